import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take far longer than their size lets expect, the longest first. */
const long = [
  "scenarios/simulated",
  "scenarios/start",
  "scenarios/tour",
  "api/bad-input",
  "api/auth-bad-input",
  "scenarios/kept-cards-stripe-killed",
  "scenarios/sale-steps",
  "scenarios/sale-stripe-killed",
  "scenarios/setup-steps",
  "cli/docs",
  "scenarios/usage-killed",
  "scenarios/invoices-killed",
  "scenarios/exports-killed",
  "scenarios/mails-killed",
  "scenarios/renewals-killed",
].map((name) => `/tests/${name}.test.ts`);
const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = long.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? long.length : place;
};

/** Long files come first, so that none is left in the end, when the other workers have nothing to do; then the largest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
