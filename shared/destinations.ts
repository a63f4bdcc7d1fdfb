/**
 * Where a text that came from outside may send a person: an address on one of these origins, of which the first is this
 * site. Undefined where it leads elsewhere, or may: a path that begins with two slashes is on this site as part of a whole
 * address, and another host by itself.
 */
export function findDestination(text: unknown, origins: readonly string[]): URL | undefined {
  if (typeof text !== "string" || !/^(\/|https?:\/\/)/.test(text) || !URL.canParse(text, origins[0])) return undefined;
  const url = new URL(text, origins[0]);
  const isOurs = origins.includes(url.origin) && url.username === "" && url.password === "";
  return isOurs && !url.pathname.startsWith("//") ? url : undefined;
}

/** The page of somebody else that a text is the address of: on the web, where no script is an address. */
export function findWebPage(text: unknown): URL | undefined {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}
