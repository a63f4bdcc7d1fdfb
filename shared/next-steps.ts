/** What there is to do about faults that a setting or another command ends, by the machine name of the fault. */
const nextSteps = new Map([
  ["seat_based_pricing_disabled", "floe organization update --feature-settings seat_based_pricing_enabled=true"],
]);

/** The command that ends a fault of that machine name; undefined where there is none. */
export const findNextStep = (type: string): string | undefined => nextSteps.get(type);
