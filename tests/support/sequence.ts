import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take far longer than their size lets expect, the longest first. */
const slow = [
  "scenarios/simulated.long",
  "web/sale.long",
  "scenarios/tour.long",
  "scenarios/start.long",
  "api/bad-input.long",
  "api/auth-bad-input.long",
  "api/every-operation.long",
  "web/home",
  "scenarios/pooler",
  "api/sandbox",
  "api/limits",
  "api/products",
  "api/audit",
  "conformance/examples",
  "scenarios/failover",
  "api/sweeps",
  "scenarios/subscriptions-metered-changes",
  "conformance/every-answer",
  "rules/invoices",
  "api/invoices",
].map((name) => `/tests/${name}.test.ts`);
const placeOf = ({ moduleId }: TestSpecification): number => {
  const place = slow.findIndex((name) => moduleId.endsWith(name));
  return place < 0 ? slow.length : place;
};

/** Long files come first, so that none is left in the end, when the other workers have nothing to do; then the largest. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).sort((a, b) => placeOf(a) - placeOf(b));
  }
}
