import { destinationOf } from "../../shared/destinations.ts";

/** A path of this very site to go to next, from a query parameter; anything that leads elsewhere becomes `fallback`. */
export function safePath(next: string | null, fallback = "/", origin = location.origin): string {
  const target = next?.startsWith("/") ? destinationOf(next, [origin]) : undefined;
  return target ? target.pathname + target.search + target.hash : fallback;
}
