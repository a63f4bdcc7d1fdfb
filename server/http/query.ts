/**
 * A query string as the official SDKs write it: a repeated key is a list, `metadata[key]=v` is an entry of a map.
 * Stock parsers keep `metadata[key]` as a flat name.
 */
export function parseQuery(text: string): Record<string, unknown> {
  const query: Record<string, unknown> = {};
  for (const [name, value] of new URLSearchParams(text)) {
    const [, map, key] = /^([^[\]]+)\[([^\]]+)\]$/.exec(name) ?? [];
    if (map === undefined || key === undefined) add(query, name, value);
    else {
      const held = query[map];
      const inner = typeof held === "object" && held !== null && !Array.isArray(held) ? held : Object.create(null);
      add(inner as Record<string, unknown>, key, value);
      query[map] = inner;
    }
  }
  return query;
}

function add(target: Record<string, unknown>, key: string, value: string): void {
  if (key === "__proto__") return;
  const held = target[key];
  target[key] = held === undefined ? value : Array.isArray(held) ? [...held, value] : [held, value];
}
