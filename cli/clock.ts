import * as routes from "../shared/routes.ts";
import type { Context } from "./context.ts";
import { Fault } from "./fault.ts";
import { request } from "./request.ts";

/** The time by which an organization lives: a sandbox's own where one may ask for it, else this machine's. */
export async function readClock(context: Context): Promise<() => number> {
  try {
    const { now } = (await request(context, routes.sandbox.getClock, {})) as { now: string };
    const ahead_ms = new Date(now).getTime() - Date.now();
    return () => Date.now() + ahead_ms;
  } catch (error) {
    if (!(error instanceof Fault) || !["not_permitted", "not_found"].includes(error.kind)) throw error;
    return Date.now;
  }
}
