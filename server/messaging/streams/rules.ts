import { api } from "../../../shared/api/index.ts";
import type { Operation } from "../../../shared/contract.ts";
import { type EventType, eventTypes } from "../../../shared/event-types.ts";
import type { Scope } from "../../../shared/scopes.ts";
import type { TailedEvent } from "../../platform/events/tail.ts";

/** The operation that reads the object of an event: who may call it may be sent the event (STR-03). */
const readers: Readonly<Record<string, Operation>> = {
  benefit: api.benefits.get,
  benefit_grant: api.benefits.get,
  checkout: api.checkouts.get,
  customer: api.customers.get,
  customer_seat: api.customerSeats.list,
  discount: api.discounts.get,
  member: api.customerMembers.get,
  order: api.orders.get,
  organization: api.organizations.get,
  product: api.products.get,
  refund: api.refunds.list,
  subscription: api.subscriptions.get,
};

const getKind = (type: string): string => type.slice(0, type.indexOf("."));

/** The scope that reads the object of an event of this type. */
export function getReadScope(type: EventType): Scope {
  const [scope] = readers[getKind(type)]?.access.scopes ?? [];
  if (scope === undefined) throw new Error(`No operation reads the object of ${type}.`);
  return scope;
}

/** Every scope with which there is something to read. */
export const readScopes: readonly Scope[] = [...new Set(eventTypes.map(getReadScope))];

/** The types of a name: itself, or with `order.*` all of its kind. Undefined where there is none. */
export function expandType(name: string): EventType[] | undefined {
  const found = name.endsWith(".*")
    ? eventTypes.filter((type) => getKind(type) === name.slice(0, -2))
    : eventTypes.filter((type) => type === name);
  return found.length > 0 ? found : undefined;
}

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const getFields = (value: unknown): Fields => (isFields(value) ? value : {});

/** Which objects a stream is about; what is not named does not matter (STR-04). */
export type EventFilters = {
  customer_id?: string | undefined;
  external_customer_id?: string | undefined;
  product_id?: string | undefined;
  subscription_id?: string | undefined;
};

/** The customer that an event is about. */
export const getCustomerId = (type: string, data: unknown): unknown =>
  getKind(type) === "customer" ? getFields(data).id : getFields(data).customer_id;

/** The seller's own id of that customer, where the event names it. */
function getExternalCustomerId(type: string, data: unknown): unknown {
  const fields = getFields(data);
  if (getKind(type) === "customer") return fields.external_id;
  return getFields(fields.customer).external_id ?? fields.external_customer_id;
}

function isOfProduct(type: string, data: unknown, product_id: string): boolean {
  const { id, product_id: sold, product, products } = getFields(data);
  if (getKind(type) === "product") return id === product_id;
  const offered = Array.isArray(products) ? products.map((one) => getFields(one).id) : [];
  return [sold, getFields(product).id, ...offered].includes(product_id);
}

const isOfSubscription = (type: string, data: unknown, subscription_id: string): boolean =>
  (getKind(type) === "subscription" ? getFields(data).id : getFields(data).subscription_id) === subscription_id;

type Named = Pick<TailedEvent, "type" | "data">;

/**
 * Whether an event is about all that is named. `holders` are the ids of the customers that have the external id: events that name
 * the customer by id alone are found by them, and an event that names both adds one.
 */
export function isMatchingFilters({ type, data }: Named, filters: EventFilters, holders: Set<string>): boolean {
  const { customer_id, external_customer_id, product_id, subscription_id } = filters;
  const of = getCustomerId(type, data);
  if (external_customer_id !== undefined) {
    const named = getExternalCustomerId(type, data);
    if (typeof of === "string" && named !== undefined)
      named === external_customer_id ? holders.add(of) : holders.delete(of);
    if (!holders.has(String(of))) return false;
  }
  return (
    (customer_id === undefined || of === customer_id) &&
    (product_id === undefined || isOfProduct(type, data, product_id)) &&
    (subscription_id === undefined || isOfSubscription(type, data, subscription_id))
  );
}

/** The kinds of objects that belong to a customer. */
const customerKinds = new Set([
  ...["benefit_grant", "checkout", "customer", "customer_seat", "member", "order", "refund", "subscription"],
]);
/** Whether events of a type may be about a customer. */
export const isOfCustomers = (type: EventType): boolean => customerKinds.has(getKind(type));

/** Whether an event is about a customer; a plain member of a team hears of their own alone (CUP-25). */
export const isOfCustomer = ({ type, data }: Named, customer_id: string, member_id: string | null): boolean =>
  getCustomerId(type, data) === customer_id && (member_id === null || getFields(data).member_id === member_id);
