import { createHash } from "node:crypto";

export const mirroredKinds = [
  "benefit",
  "benefit_grant",
  "checkout",
  "customer",
  "customer_seat",
  "customer_state",
  "discount",
  "member",
  "order",
  "organization",
  "product",
  "refund",
  "subscription",
] as const;
export type MirroredKind = (typeof mirroredKinds)[number];

type Data = Record<string, unknown>;
/** A form of an object, with what decides whether it is newer than another. */
export type MirroredObject = {
  kind: MirroredKind;
  id: string;
  data: Data;
  modified_at: Date;
  event_at: Date;
  source: string;
  via: "event" | "embedded" | "read" | "sync";
  deleted_at: Date | null;
  customer_id: string | null;
  external_id: string | null;
};
type Told = { source: string; event_at: Date; via: MirroredObject["via"] };

/** Before anything that was told: an object inside another was told of by the way. */
const untold = new Date(0);

const isMap = (value: unknown): value is Data => typeof value === "object" && value !== null && !Array.isArray(value);
const readText = (value: unknown): string | null => (typeof value === "string" ? value : null);
const readTime = (value: unknown): Date | undefined => {
  const time = typeof value === "string" ? new Date(value) : undefined;
  return time && !Number.isNaN(time.getTime()) ? time : undefined;
};

/** The kind of object that an event is about: `order` of `order.paid`. */
export function findKind(type: string): MirroredKind | undefined {
  if (type === "customer.state_changed") return "customer_state";
  const [kind = ""] = type.split(".");
  return mirroredKinds.find((known) => known === kind);
}

export function buildObject(kind: MirroredKind, data: Data, told: Told, isDeleted = false): MirroredObject | undefined {
  const id = readText(data.id);
  if (id === null) return undefined;
  const changed = readTime(data.modified_at) ?? readTime(data.created_at) ?? told.event_at;
  return {
    kind,
    id,
    data,
    // A state has no time of its own: it is as new as what tells it.
    modified_at: kind === "customer_state" ? told.event_at : changed,
    ...told,
    deleted_at: isDeleted ? told.event_at : null,
    customer_id: kind === "customer" || kind === "customer_state" ? id : readText(data.customer_id),
    external_id: readText(data.external_id),
  };
}

const embeddedKinds = ["customer", "product", "subscription", "benefit"] as const;
/** Of an order, these are whole objects; of the others, parts. */
const holders: readonly MirroredKind[] = ["order", "subscription", "benefit_grant"];

/** The objects that stand inside another. Their own time decides, and what was told of them counts for more. */
export function listEmbedded({ kind, data }: MirroredObject): MirroredObject[] {
  if (!holders.includes(kind)) return [];
  return embeddedKinds.flatMap((inner) => {
    const value = data[inner];
    if (!isMap(value)) return [];
    const source = createHash("sha256").update(JSON.stringify(value)).digest("hex");
    const object = buildObject(inner, value, { source, event_at: untold, via: "embedded" });
    return object ? [object] : [];
  });
}

/** All objects that an event tells of, the one that it is about first. */
export function listObjects(type: string, data: unknown, told: Omit<Told, "via">): MirroredObject[] {
  const kind = findKind(type);
  if (!kind || !isMap(data)) return [];
  const object = buildObject(kind, data, { ...told, via: "event" }, type.endsWith(".deleted"));
  return object ? [object, ...listEmbedded(object)] : [];
}
