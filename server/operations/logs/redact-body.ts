/** What of a body the request log keeps. */
import { isUuid } from "../../../shared/uuid.ts";

const depthMax = 4;
const entriesMax = 20;
const charactersMax = 2000;
/** A name that a client made up may be anything, as an address. */
const fieldName = /^[a-z][a-z0-9_]{0,39}$/;
/** Maps whose names are the client's own. */
const freeMaps = new Set(["metadata", "custom_field_data", "user_metadata", "conditions"]);

/**
 * A body without its texts: numbers, booleans, ids and the names of fields stay. Names, addresses, keys and secrets are all
 * texts, so the log needs no list of secret fields, and an erasure finds nothing in it.
 */
export function redactBody(body: unknown): unknown {
  if (typeof body !== "object" || body === null) return null;
  const redacted = redactValue(body, 0);
  return JSON.stringify(redacted).length > charactersMax ? { truncated: true, fields: listFields(body) } : redacted;
}

const listFields = (body: object): string[] =>
  Object.keys(body)
    .filter((name) => fieldName.test(name))
    .slice(0, entriesMax);

function redactValue(value: unknown, depth: number): unknown {
  if (typeof value === "string") return isUuid(value) ? value : "[text]";
  if (typeof value !== "object" || value === null) return value;
  if (depth >= depthMax) return "[…]";
  if (Array.isArray(value)) return value.slice(0, entriesMax).map((one) => redactValue(one, depth + 1));
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => fieldName.test(name))
      .slice(0, entriesMax)
      .map(([name, one]) => [name, freeMaps.has(name) ? "[map]" : redactValue(one, depth + 1)]),
  );
}
