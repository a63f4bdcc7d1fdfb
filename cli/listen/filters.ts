/** Which events a listener wants: by type, with `*` for a part of it, and by values of the event. */
import { eventTypes } from "../../shared/event-types.ts";
import { Fault } from "../fault.ts";

/** `order.*` is every type that begins with `order.`; a type that does not exist is refused by the server. */
export function expandTypes(patterns: readonly string[]): string[] {
  const types = patterns.flatMap((pattern) => {
    if (!pattern.includes("*")) return [pattern];
    const parts = pattern.split("*").map((part) => part.replaceAll(/[^\w.]/g, ""));
    const found = eventTypes.filter((type) =>
      new RegExp(`^${parts.map((part) => part.replaceAll(".", "\\.")).join(".*")}$`).test(type),
    );
    if (found.length === 0)
      throw new Fault("usage", `--events ${pattern}: no event type is like this`, {
        hint: "See: `floe trigger --list`",
      });
    return found;
  });
  return [...new Set(types)];
}

export type Match = { path: string[]; text: string };

/** `data.customer.email=ada@example.com`: the value of the event's body at that place. */
export function parseMatch(text: string): Match {
  const [, place = "", value = ""] = /^([\w.]+)=(.*)$/s.exec(text) ?? [];
  if (!place.startsWith("data."))
    throw new Fault("usage", `--match ${text}: must be data.FIELD=VALUE`, {
      hint: "For example: `floe listen --match data.customer.email=ada@example.com`",
    });
  return { path: place.split("."), text: value };
}

/** Whether a body has each of these values. */
export const isMatching = (body: unknown, matches: readonly Match[]): boolean =>
  matches.every(({ path, text }) => {
    const value = path.reduce<unknown>((row, key) => (row as Record<string, unknown> | null | undefined)?.[key], body);
    return value !== undefined && (typeof value === "string" ? value : JSON.stringify(value)) === text;
  });
