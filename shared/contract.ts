import { z } from "zod";
import type { ErrorName } from "./errors.ts";
import type { Scope } from "./scopes.ts";

/** Who may call an operation. Any one of the scopes suffices. */
export type Access = {
  readonly by: "anyone" | "person" | "seller" | "customer";
  /** One of these is needed. */
  readonly scopes: readonly Scope[];
  /** All of these are needed besides. */
  readonly needs?: readonly Scope[];
};
/** Everybody; a bad token is still refused. */
export const anyone: Access = { by: "anyone", scopes: [] };
/** Who is signed in, in whatever organization, or in none yet. */
export const person = (...scopes: Scope[]): Access => ({ by: "person", scopes });
/** Who acts for an organization: its keys, and its members by their roles. */
export const seller = (...scopes: Scope[]): Access => ({ by: "seller", scopes });
/** Who acts for an organization and holds all of `needs` besides the scope. */
export const buildSellerAccess = (scope: Scope, needs: readonly Scope[]): Access => ({
  by: "seller",
  scopes: [scope],
  needs,
});
/** Somebody who bought, in their own place. */
export const customer = (...scopes: Scope[]): Access => ({ by: "customer", scopes });

/** One operation of the wire API: the single place its path, shapes and access are written. */
export type Operation = {
  method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Its published name, where that does not follow from its own. */
  id?: string;
  /** As published, trailing slash included; the server answers both forms. Path parameters as `:name`. */
  path: string;
  summary: string;
  access: Access;
  /** Counted by itself for each address, whatever token is shown (server/platform/http/limits.ts). */
  limit?: "payment" | "code" | "license_key";
  params?: z.ZodObject;
  query?: z.ZodObject;
  body?: z.ZodType;
  /** Absent: the answer has no body (204, or 202 with `null`), or is a file. */
  response?: z.ZodType;
  /** The answer is a text file of this name, sent in pieces as it is made. */
  file?: { name: string; type: `text/${string}` | "application/json" | "application/x-ndjson" };
  /** 200 unless said. */
  status?: 200 | 201 | 202 | 204;
  /** True where the oldest published clients expect the list alone, whole and not in pages. */
  bare?: true;
  /** Names of the errors it may answer besides 401, 403 and 422. */
  errors?: readonly ErrorName[];
  /** True where the organization is the one whose products the body names. */
  ofProducts?: true;
  /** True where the handler calls the outside world, so it cannot run inside one transaction with its idempotency record. */
  external?: true;
  /** True where the answer opens a session: it is given once, and never kept for an `Idempotency-Key`. */
  answersOnce?: true;
  /** Fields of the answer that open a session: null in the answer that is kept for an `Idempotency-Key`. */
  notKept?: readonly string[];
  /** What it is called in the audit log, where that does not follow from its name: always, or by what is sent. */
  audit?: AuditAction | ((body: SentFields) => AuditAction | undefined);
  /**
   * True where many small things come in one body: it may have a value for fewer bytes, and leaves no entry in the audit log,
   * as what comes in stays there to be read.
   */
  bulk?: true;
  /**
   * Present where it takes the database for long: few at once for an organization and for a server, with 429 beyond, and on a part of
   * the connections. `cancel`: it ends with its caller. `finish`: it comes to its end by itself soon (server/platform/jobs/heavy-work.ts).
   */
  heavy?: "cancel" | "finish";
  /** True where it also works in an organization that is held, which refuses all other changes (MOV-05). */
  whileHeld?: true;
  /** True where it charges or refunds, or the fields of the body with which it does: refused while money is held (RST-10). */
  movesMoney?: true | readonly string[];
  /** The question the command line asks before it goes ahead. */
  confirm?: string;
};
export type AuditAction = `${string}.${string}`;
type SentFields = Readonly<Record<string, unknown>>;
export type Resource = Record<string, Operation>;
export type Contract = Record<string, Resource>;

type Sent<S> = S extends z.ZodType ? z.input<S> : undefined;
type Read<S> = S extends z.ZodType ? z.output<S> : undefined;
type Parts<O extends Operation, K extends "sent" | "read"> = {
  [P in "params" | "query" | "body" as P extends keyof O ? P : never]: K extends "sent" ? Sent<O[P]> : Read<O[P]>;
};
/** What a caller passes, what a handler receives, and what comes back. */
export type Request<O extends Operation> = Parts<O, "sent">;
export type Input<O extends Operation> = Parts<O, "read">;
export type Output<O extends Operation> = O["response"] extends z.ZodType ? z.output<O["response"]> : void;

type WithFile = { file: object };
/** Files are left out: whoever reads one wants its bytes as they come. */
export type Client<C extends Contract> = {
  [R in keyof C]: {
    [K in keyof C[R] as C[R][K] extends WithFile ? never : K]: (input: Request<C[R][K]>) => Promise<Output<C[R][K]>>;
  };
};
/** The functions that answer a resource: one for each operation, or it does not compile. */
export type Service<R extends Resource, Ctx> = {
  [K in keyof R]: (
    ctx: Ctx,
    input: Input<R[K]>,
  ) => Promise<R[K] extends WithFile ? AsyncIterable<string> : Output<R[K]>>;
};

/** The years of a time that is sent: before and after them, databases and clients read the same text as another year. */
const [first_year, last_year] = [1970, 9999];
const yearFault = `Must be in the years ${first_year} to ${last_year}, in UTC.`;
const isInYears = (date: Date): boolean => date.getUTCFullYear() >= first_year && date.getUTCFullYear() <= last_year;

/** ISO 8601 with an offset. */
export const instantText = z.iso.datetime({ offset: true }).refine((text) => isInYears(new Date(text)), yearFault);

/** The same on the wire, `Date` in the program. */
export const instant = z.codec(z.iso.datetime({ offset: true }), z.date(), {
  decode: (text, payload) => {
    const date = new Date(text);
    if (isInYears(date)) return date;
    payload.issues.push({ code: "custom", input: text, message: yearFault });
    return z.NEVER;
  },
  encode: (date) => date.toISOString(),
});

export const page = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), pagination: z.object({ total_count: z.int(), max_page: z.int() }) });

/**
 * Where the document shows another shape than the one that reads: what a thing is sent is read by the kind that is stored, and a
 * shape that holds itself is read to a certain depth.
 */
export const shown = z.registry<{ as: unknown }>();
export function showAs<S extends z.ZodType>(shape: S, as: z.ZodType): S {
  shown.add(shape as z.ZodType, { as });
  return shape;
}

/** `page` from 1; `limit` above 100 is clamped, not refused (API-13). */
export const paging = z.object({
  page: z.coerce.number().int().min(1).default(1).describe("Page number, from 1."),
  limit: z.coerce
    .number()
    .int()
    .min(1)
    .default(10)
    .transform((limit) => Math.min(limit, 100))
    .describe("Size of a page; at most 100."),
});

/** A query value that may be given once or repeated (API-11). Reads as a list. */
export const many = <T extends z.ZodType>(item: T) =>
  z
    .union([item, z.array(item)])
    .transform((value) => (Array.isArray(value) ? value : [value]) as z.output<T>[])
    .optional();

/** A yes or no in a query string. */
export const flag = z.union([z.boolean(), z.stringbool()]).optional();

/** `?metadata[key]=value`: keys are AND, repeated values OR (API-18). */
export const metadataFilter = z
  .record(z.string(), many(z.string()))
  .optional()
  .describe("Only with these values in the metadata.");

/** `?sorting=-created_at&sorting=name`, each key also with a leading `-` (API-15). */
export const sorting = <const K extends string>(keys: readonly [K, ...K[]], standard: readonly (K | `-${K}`)[]) => {
  const key = z.enum([...keys, ...keys.map((name) => `-${name}` as const)] as [K | `-${K}`, ...(K | `-${K}`)[]]);
  return z
    .union([key, z.array(key)])
    .transform((value): (K | `-${K}`)[] => (Array.isArray(value) ? value : [value as K | `-${K}`]))
    .default(() => [...standard])
    .describe("Order of the list; a leading - turns it round.");
};

export const byId = z.object({ id: z.uuid() });
/** Ids given as a filter, once or repeated. */
export const ids = many(z.uuid());

/** At most 50 keys of 1–40 characters; values are text of 1–500 characters, numbers or booleans (API-17). */
export const metadata = z
  .record(z.string().min(1).max(40), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
  .refine((map) => Object.keys(map).length <= 50, { message: "Metadata can have at most 50 keys." });
/** Metadata as it is answered. */
export const metadataOut = z.record(z.string(), z.union([z.string(), z.number(), z.boolean()]));
export type Metadata = z.output<typeof metadataOut>;
