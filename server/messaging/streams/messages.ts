import type { EventType } from "../../../shared/event-types.ts";
import { openTokens, redactTokens } from "../../platform/crypto/secrets.ts";
import { formatCursor, type TailedEvent } from "../../platform/events/tail.ts";
import { adapt, type ClientProfile } from "../../platform/http/profiles.ts";
import { formatSseText } from "../../platform/http/sse.ts";
import type { Reader } from "./reader.ts";
import { isMatchingFilters, isOfCustomer } from "./rules.ts";

/** Events that several streams send in the same words are written once; the tail gives them the same rows. */
const written = new WeakMap<object, Map<string, string>>();

/** Writes an event for a reader. */
export type WriteMessage = (event: TailedEvent) => string | undefined;

const getObjectId = (data: unknown): unknown =>
  typeof data === "object" && data !== null ? (data as Record<string, unknown>).id : undefined;

/** The messages of a reader's stream: the envelope of the event, or for a customer what happened to what (STR-01, STR-03). */
export function createMessageWriter(reader: Reader, client: ClientProfile, secrets: readonly string[]): WriteMessage {
  const { actor, organization_id, types, filters, holders } = reader;
  const { customer } = actor;
  const own = customer?.member?.role === "member" ? customer.member.id : null;
  const hasTokens = actor.scopes.has("webhooks:write");
  const words = JSON.stringify([client, hasTokens]);
  const writeEnvelope = ({ id, type, created_at, data }: TailedEvent): string => {
    const timestamp = created_at.toISOString();
    const json = JSON.stringify({ id, type, timestamp, api_version: client.version, data: adapt(client, data) });
    return hasTokens ? openTokens(secrets, "event-tokens", organization_id, json) : redactTokens(json);
  };
  const writeOnce = (event: TailedEvent): string => {
    const known = written.get(event) ?? new Map<string, string>();
    written.set(event, known);
    const json = known.get(words) ?? writeEnvelope(event);
    known.set(words, json);
    return json;
  };
  return (event) => {
    const { id, type, data, created_at } = event;
    if (!types.has(type as EventType) || !isMatchingFilters(event, filters, holders)) return undefined;
    if (customer && !isOfCustomer(event, customer.customer_id, own)) return undefined;
    const json = customer
      ? JSON.stringify({ id, type, timestamp: created_at.toISOString(), object_id: getObjectId(data) })
      : writeOnce(event);
    return formatSseText(json, { id: formatCursor(event), event: type });
  };
}
