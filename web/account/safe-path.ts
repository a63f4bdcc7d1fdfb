import { findDestination } from "../../shared/destinations.ts";

/** A path of this very site to go to next, from a query parameter; anything that leads elsewhere becomes `fallback`. */
export function resolveSafePath(next: string | null, fallback = "/", origin = location.origin): string {
  const target = next?.startsWith("/") ? findDestination(next, [origin]) : undefined;
  return target ? target.pathname + target.search + target.hash : fallback;
}

/** Whether somebody is on their way to a page where a device is let in, which a guest cannot do anything with. */
export const isForDevice = (path: string): boolean => /^\/device(?=[/?#]|$)/.test(path);
