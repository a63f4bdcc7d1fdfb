/** What `${env:NAME}` was filled with is known to the server, and is shown to nobody. */
import type { CatalogPlan, RehearsedPlan } from "../../shared/api/catalog.ts";

export type Secrets = {
  /** The catalogue as it is written, with the placeholders in it. */
  written: Record<string, unknown>;
  /** A whole text, filled in → as it is written. */
  filled: Map<string, string>;
  /** Value of a variable → its placeholder. */
  values: Map<string, string>;
};

/** Shorter ones stand in too many other words by chance; where a whole text is made of one it is hidden all the same. */
const leastLength = 4;
const another = "(another value)";

/** A text without what came from the environment. */
export function hideText(text: string, secrets: Secrets | undefined): string {
  if (!secrets) return text;
  const whole = secrets.filled.get(text);
  if (whole !== undefined) return whole;
  return [...secrets.values]
    .filter(([value]) => value.length >= leastLength)
    .sort(([a], [b]) => b.length - a.length)
    .reduce((hidden, [value, placeholder]) => hidden.replaceAll(value, placeholder), text);
}

function hideAll<T>(value: T, hide: (text: string) => string): T {
  if (typeof value === "string") return hide(value) as T;
  if (Array.isArray(value)) return value.map((one) => hideAll(one, hide)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, hideAll(one, hide)])) as T;
}

type Map1 = Record<string, unknown>;
/** What stood where a secret comes may be the secret of before. */
function hideBefore(from: unknown, to: unknown, hidden: unknown): unknown {
  if (typeof to === "string" && to !== hidden) return from === null || from === undefined ? from : another;
  if (typeof from !== "object" || from === null || typeof to !== "object" || to === null) return from;
  if (Array.isArray(from) || Array.isArray(to)) return JSON.stringify(to) === JSON.stringify(hidden) ? from : [another];
  const [wants, shown] = [to as Map1, hidden as Map1];
  return Object.fromEntries(
    Object.entries(from).map(([name, one]) => [name, hideBefore(one, wants[name], shown[name])]),
  );
}

/** A plan as it may be shown and saved. */
export function hidePlan<P extends CatalogPlan | RehearsedPlan>(plan: P, secrets: Secrets | undefined): P {
  if (!secrets || secrets.values.size === 0) return plan;
  const hide = (text: string): string => hideText(text, secrets);
  const written = secrets.written as Record<string, Record<string, Map1> | undefined>;
  return {
    ...plan,
    steps: plan.steps.map((step) => {
      const raw = written[step.kind]?.[step.key] ?? {};
      const isFilled = (field: string): boolean => JSON.stringify(raw[field] ?? "").includes("${env:");
      const changes = step.changes.map(({ field, from, to }) => {
        const shown = hideAll(to, hide);
        return { field, from: isFilled(field) ? hideBefore(from, to, shown) : hideAll(from, hide), to: shown };
      });
      // A webhook is called by its address.
      const name = step.kind === "webhooks" && isFilled("url") ? String(raw.url) : hide(step.name);
      return { ...step, name, changes };
    }),
    issues: plan.issues.map((issue) => hideAll(issue, hide)),
    ...("rehearsal" in plan ? { rehearsal: hideAll(plan.rehearsal, hide) } : {}),
  };
}
