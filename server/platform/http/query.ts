/** The one name that writes into the prototype of whatever it is assigned to; no parameter and no key may have it. */
const refused = "__proto__";

/**
 * A query string as the official SDKs write it: a repeated key is a list, `metadata[key]=v` is an entry of a map.
 * Stock parsers keep `metadata[key]` as a flat name. The maps have no prototype: what is looked up in them was sent, and
 * nothing that is written to them is seen anywhere else.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = Object.create(null);
  for (const [name, value] of new URLSearchParams(text)) {
    const [, map, key] = /^([^[\]]+)\[([^[\]]+)\]$/.exec(name) ?? [];
    if (map === undefined || key === undefined || key === refused) addUnreadable(query, name, value);
    else if (map !== refused && typeof query[map] !== "string") {
      const held = query[map];
      const inner = typeof held === "object" && held !== null && !Array.isArray(held) ? held : Object.create(null);
      add(inner as Record<string, unknown>, key, value);
      query[map] = inner;
    }
  }
  return query;
}

/**
 * A plain name is a parameter. A name with brackets that are not those of one entry makes its map a text, which is refused wherever a map is expected: a filter
 * that is dropped would answer with everything.
 */
function addUnreadable(query: Record<string, unknown>, name: string, value: string): void {
  const [map = ""] = name.split(/[[\]]/, 1);
  if (map === name) add(query, name, value);
  else if (map !== refused) query[map] = name;
}

function add(target: Record<string, unknown>, key: string, value: string): void {
  if (key === refused) return;
  const held = target[key];
  if (Array.isArray(held)) held.push(value);
  else target[key] = held === undefined ? value : [held, value];
}
