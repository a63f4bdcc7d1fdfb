import { z } from "zod";
import { instant, many } from "../../../shared/contract.ts";
import { ApiError, invalid, notFound } from "../../../shared/errors.ts";
import { type EventType, eventTypes, eventTypesOf } from "../../../shared/event-types.ts";
import type { Scope } from "../../../shared/scopes.ts";
import { findCustomer } from "../../customers/customers/store.ts";
import type { Actor, Deps } from "../../platform/context.ts";
import type { ClientProfile } from "../../platform/http/profiles.ts";
import { readFaults } from "../../platform/http/validation-errors.ts";
import { type EventFilters, expandType, getReadScope, isOfCustomers } from "./rules.ts";

const typesMax = 100;
/** Types as they are named: once or repeated, each by itself or several by commas. */
const types = many(z.string())
  .transform((named) =>
    named
      ?.flatMap((text) => text.split(","))
      .map((text) => text.trim())
      .filter((text) => text !== ""),
  )
  .pipe(
    z
      .array(
        z
          .string()
          .refine((name) => expandType(name) !== undefined, "This is no event type, and no kind such as order.*."),
      )
      .max(typesMax)
      .optional(),
  );

/** What of an organization's events a stream is about. */
export const StreamFilters = z.object({
  types,
  customer_id: z.uuid().optional(),
  external_customer_id: z.string().min(1).max(255).optional(),
  product_id: z.uuid().optional(),
  subscription_id: z.uuid().optional(),
});
export type StreamFilters = z.output<typeof StreamFilters>;

export const StreamQuery = StreamFilters.extend({
  cursor: z.string().optional(),
  since: instant.optional(),
  token: z.string().max(200).optional(),
  organization_id: z.uuid().optional(),
});
export const TokenBody = StreamFilters.extend({ organization_id: z.uuid().optional() }).strict();

/** Read a query or a body, or refuse it with the place of each fault. */
export function parseInput<T>(schema: z.ZodType<T>, where: "query" | "body", input: unknown): T {
  const parsed = schema.safeParse(input);
  if (parsed.success) return parsed.data;
  throw new ApiError("RequestValidationError", readFaults([where], parsed.error.issues, input));
}

/** Who reads a stream, and which events that leads to. */
export type Reader = {
  actor: Actor;
  organization_id: string;
  filters: EventFilters;
  /** The types that are sent. */
  types: ReadonlySet<EventType>;
  /** The types that were not asked for by name and need a scope that the reader lacks. */
  omitted: readonly EventType[];
  /** The customers of `external_customer_id`. */
  holders: Set<string>;
};

const rejectScope = (scope: Scope) =>
  new ApiError("insufficient_scope", `This needs the scope ${scope}.`, {
    "WWW-Authenticate": `Bearer realm="floe", error="insufficient_scope", scope="${scope}"`,
  });

/** The types for a seller's key or person: by their scopes (STR-03). Named without its scope, a type is refused. */
export function selectTypes(
  { scopes }: Pick<Actor, "scopes">,
  named: readonly string[] | undefined,
  client: Pick<ClientProfile, "generation">,
): Pick<Reader, "types" | "omitted"> {
  const asked = named?.flatMap((name) => expandType(name) ?? []);
  const missing = asked?.find((type) => !scopes.has(getReadScope(type)));
  if (missing !== undefined) throw rejectScope(getReadScope(missing));
  const known = (asked ?? eventTypes).filter((type) => eventTypesOf[client.generation].has(type));
  const isHeld = (type: EventType): boolean => scopes.has(getReadScope(type));
  return { types: new Set(known.filter(isHeld)), omitted: known.filter((type) => !isHeld(type)) };
}

/** Who reads, once they were let through. A customer reads their own; another customer does not exist for them. */
export async function createReader(
  { db }: Pick<Deps, "db">,
  actor: Actor,
  { types: named, ...filters }: StreamFilters,
  client: ClientProfile,
): Promise<Reader> {
  const { organization_id, customer } = actor;
  if (organization_id === null) throw notFound();
  const { customer_id, external_customer_id } = filters;
  if (customer && customer_id !== undefined && customer_id !== customer.customer_id) throw notFound();
  const holder =
    external_customer_id === undefined
      ? undefined
      : await findCustomer(db, organization_id, { external_id: external_customer_id });
  if (customer && external_customer_id !== undefined && holder?.id !== customer.customer_id) throw notFound();
  const own = new Set((named?.flatMap((name) => expandType(name) ?? []) ?? eventTypes).filter(isOfCustomers));
  const selected = customer ? { types: own, omitted: [] } : selectTypes(actor, named, client);
  return { actor, organization_id, filters, ...selected, holders: new Set(holder ? [holder.id] : []) };
}

/** Refuse a reader who has become another, or has lost a scope that the stream needs (STR-06). */
export function checkReader({ actor, organization_id, types }: Reader, now: Actor): void {
  const { customer } = actor;
  const isSame =
    now.organization_id === organization_id &&
    now.customer?.customer_id === customer?.customer_id &&
    now.customer?.member?.role === customer?.member?.role;
  if (!isSame) throw notFound();
  const lost = [...(customer ? [] : types)].map(getReadScope).find((scope) => !now.scopes.has(scope));
  if (lost) throw rejectScope(lost);
  if (actor.scopes.has("webhooks:write") && !now.scopes.has("webhooks:write")) throw rejectScope("webhooks:write");
}

/** A fault of one parameter of the query, or of a header. */
export const rejectPlace = (loc: [string, string], msg: string, input: unknown) =>
  invalid({ loc, msg, type: "value_error", input });
