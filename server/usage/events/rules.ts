import { hash } from "node:crypto";
import type { Event, EventCreate, EventMetadata, IngestedEvent } from "../../../shared/api/events.ts";
import { type Fault, fault } from "../../../shared/errors.ts";
import { formatDecimal } from "../../../shared/money.ts";
import { type CustomerRow, serializeCustomer } from "../../customers/customers/rules.ts";
import type { usageEvents } from "./tables.ts";

export type EventRow = Omit<typeof usageEvents.$inferSelect, "attached_key">;

/** Cents are a number where they are kept, so that they add up, and written out where they are answered. */
function serializeMetadata(metadata: EventMetadata): Event["metadata"] {
  const { _cost, _llm, ...own } = metadata as EventMetadata & Record<string, string | number | boolean>;
  return {
    ...own,
    ...(_cost ? { _cost: { ..._cost, amount: formatDecimal(_cost.amount) } } : {}),
    ...(_llm ? { _llm } : {}),
  } as Event["metadata"];
}

/** An event as it is answered. */
export const serializeEvent = (row: EventRow, customer: CustomerRow | undefined, child_count: number): Event => ({
  ...row,
  customer: customer ? serializeCustomer(customer) : null,
  metadata: serializeMetadata(row.metadata),
  child_count,
  label: row.name,
});

const sortEntries = (map: object): [string, unknown][] =>
  Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));

/**
 * What an event says, in 16 bytes written as an id: under one external id it says one thing. The order of keys says nothing, nor
 * does a time that was not sent.
 */
export function hashEvent(event: EventCreate): string {
  const { name, customer_id, external_customer_id, timestamp, parent_id, member_id, external_member_id } = event;
  const whose = [customer_id ?? null, external_customer_id ?? null, member_id ?? null, external_member_id ?? null];
  const said = [name, ...whose, timestamp?.getTime() ?? null, parent_id ?? null, sortEntries(event.metadata)];
  return hash("sha256", JSON.stringify(said), "hex").slice(0, 32);
}

/** The faults of events that only the time and the asker show. `only` is the organization for which the request speaks. */
export function checkEvents(events: readonly EventCreate[], now: Date, only: string): Fault[] {
  const latest = now.getTime();
  return events.flatMap(({ timestamp, organization_id }, index) => [
    ...(timestamp && timestamp.getTime() > latest
      ? [fault(["events", index, "timestamp"], "Must not be in the future.", "value_error", timestamp.toISOString())]
      : []),
    ...(organization_id && organization_id !== only
      ? [
          fault(
            ["events", index, "organization_id"],
            "The request speaks for another organization.",
            "organization_token",
          ),
        ]
      : []),
  ]);
}

/** What became of an event, in one word. */
export function getStatus(found: {
  digest: string;
  known: string | undefined;
  customer_id: string | null;
  isCounted: boolean;
  isLate: boolean;
}): IngestedEvent["status"] {
  if (found.known !== undefined) return found.known === found.digest ? "duplicate" : "conflict";
  if (found.customer_id === null) return "no_customer";
  if (!found.isCounted) return "no_meter";
  return found.isLate ? "late" : "counted";
}
