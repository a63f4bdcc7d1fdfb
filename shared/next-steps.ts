/** What there is to do about faults that a setting or another command ends, by the machine name of the fault. */
export const nextSteps: Record<string, string> = {
  seat_based_pricing_disabled: "floe organization update --feature-settings seat_based_pricing_enabled=true",
};
