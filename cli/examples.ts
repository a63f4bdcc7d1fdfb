import type { OperationEntry } from "./manifest.ts";
import type { ResourceView } from "./resources.ts";

/** What stands in an example for something without a name: `LICENSE_KEY_ID`. */
const formatPlaceholder = (words: string): string => words.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_");

function formatParam(param: string, { sample, noun }: ResourceView): string {
  const isNamed = param === "id" || param === "name";
  if (isNamed && sample !== undefined) return sample.includes(" ") ? `"${sample}"` : sample;
  return formatPlaceholder(param === "id" ? `${noun} id` : param);
}

/** The example of a command that needs nothing but what it is about: `floe products get Pro`. */
export function buildExamples(group: string, op: OperationEntry, look: ResourceView): string[] | undefined {
  const isChange = op.method === "PATCH" && op.preset === undefined && (op.body ?? []).length > 0;
  const needsMore = [...op.query, ...(op.body ?? [])].some(({ required }) => required);
  if (isChange || needsMore) return undefined;
  return [["floe", group, op.name, ...op.params.map((param) => formatParam(param, look))].join(" ")];
}
