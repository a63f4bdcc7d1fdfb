import type { BetterAuthOptions } from "better-auth";
import type { DBAdapter } from "better-auth/adapters";
import { APIError, createAuthMiddleware, getSessionFromCtx } from "better-auth/api";
import { sql } from "drizzle-orm";
import { findFieldFault, type UserField } from "../../../platform/user-fields.ts";
import { matchPath } from "../calls.ts";
import { invalidBody } from "../http/error-mapping.ts";
import { user } from "../tables.ts";

type Adapter = DBAdapter<BetterAuthOptions>;
type Row = Record<string, unknown>;
type UserOptions = NonNullable<BetterAuthOptions["user"]>;

const isRow = (value: unknown): value is Row => typeof value === "object" && value !== null;

/**
 * The fields as better-auth takes and answers them. It is told of none that it must be given: it would refuse with it whoever
 * comes from a provider, which knows nothing of our fields. Sign-up by e-mail is refused by the guard below.
 */
export const describeUserFields = (fields: readonly UserField[]): NonNullable<UserOptions["additionalFields"]> =>
  Object.fromEntries(
    fields.map(({ name, type, input, default: defaultValue }) => [
      name,
      { type, required: false, input, ...(defaultValue === undefined ? {} : { defaultValue }) },
    ]),
  );

/** Refuse, in the catalogue's words, what lacks a field that must be given, and what no field can hold. */
export const createFieldGuard = (fields: readonly UserField[]) => ({
  matcher: matchPath("/sign-up/email", "/update-user", "/admin/create-user", "/admin/update-user"),
  handler: createAuthMiddleware(async (ctx) => {
    // The server itself makes people too, who are asked for nothing.
    if (fields.length === 0 || !ctx.request) return;
    const isAdmin = ctx.path.startsWith("/admin/");
    const isNew = ctx.path === "/sign-up/email";
    const { enabled, disableSignUp } = ctx.context.options.emailAndPassword ?? {};
    // Whom the call refuses anyway it refuses in its own words.
    if (isNew ? !enabled || disableSignUp : !(await getSessionFromCtx(ctx))) return;
    const body: unknown = isAdmin ? ctx.body?.data : ctx.body;
    const given = isRow(body) ? body : {};
    for (const field of fields) {
      const value = Object.hasOwn(given, field.name) ? given[field.name] : undefined;
      const isBlank = value === null || (typeof value === "string" && value.trim() === "");
      const isAbsent = value === undefined && isNew && field.default === undefined;
      if (field.required && !isAdmin && (isBlank || isAbsent))
        throw new APIError("BAD_REQUEST", { message: `${field.name} is required` });
      const fault = value === undefined || value === null ? undefined : findFieldFault(field, value);
      if (fault !== undefined) throw new APIError("BAD_REQUEST", { ...invalidBody, detail: `${field.name} ${fault}` });
    }
  }),
});

/** The user that sign-up invents for an address that is taken has its fields in the order of a real one. */
export const createFieldOrder = (fields: readonly UserField[]) => ({
  matcher: matchPath("/sign-up/email"),
  handler: createAuthMiddleware(async (ctx) => {
    const answer: unknown = ctx.context.returned;
    if (!isRow(answer) || !isRow(answer.user)) return;
    const person = { ...answer.user };
    const own = fields.flatMap(({ name }) => (name in person ? [[name, person[name]] as const] : []));
    for (const [name] of own) delete person[name];
    ctx.context.returned = { ...answer, user: { ...person, ...Object.fromEntries(own) } };
  }),
});

/**
 * The account side's storage, in which the fields of users that are configured stand together in one column, so that the
 * tables are the same whatever is configured. `open` gives the storage that knows this column in their place.
 */
export function wrapUserFieldStorage(
  fields: readonly UserField[],
  options: BetterAuthOptions,
  open: (options: BetterAuthOptions) => Adapter,
): Adapter {
  const adapter = open({
    ...options,
    user: { ...options.user, additionalFields: { extra: { type: "json", required: false } } },
  });
  const names = new Set(["extra", ...fields.map(({ name }) => name)]);

  /** Nothing is a value too: a field can be emptied. */
  const isWithin = (field: UserField, value: unknown) =>
    value === null || (value !== undefined && findFieldFault(field, value) === undefined);
  /** The row without the fields, and what of them is kept. The guard has refused before what does not fit. */
  const split = (row: Row, isNew: boolean): [Row, Row] => {
    const getFieldValue = ({ name, default: usual }: UserField) => row[name] ?? (isNew ? usual : row[name]);
    const kept = fields
      .filter((field) => isWithin(field, getFieldValue(field)))
      .map((field) => [field.name, getFieldValue(field)]);
    return [Object.fromEntries(Object.entries(row).filter(([name]) => !names.has(name))), Object.fromEntries(kept)];
  };
  const encodeRow = (model: string, row: Row): Row => {
    if (model !== "user") return row;
    const [rest, extra] = split(row, true);
    return { ...rest, extra };
  };
  /** What is not changed stays, whoever else changes it at the same moment. */
  const change = (model: string, row: Row): Row => {
    if (model !== "user") return row;
    const [rest, extra] = split(row, false);
    if (Object.keys(extra).length === 0) return rest;
    return { ...rest, extra: sql`${user.extra} || ${JSON.stringify(extra)}::jsonb` };
  };
  /** A user as callers know it. Who is older than a field, or than its type, has the default. */
  const show = ({ extra, ...row }: Row): Row => {
    if (!isRow(extra)) return row;
    const shown = fields.map((field) => {
      const value = extra[field.name];
      return [field.name, isWithin(field, value) ? value : (field.default ?? null)];
    });
    return { ...row, ...Object.fromEntries(shown) };
  };
  /** Sessions and accounts come with their user, when they are asked to. */
  const serializeRow = <T>(model: string, row: T): T => {
    if (!isRow(row)) return row;
    if (model === "user") return show(row) as T;
    return isRow(row.user) ? { ...row, user: show(row.user) } : row;
  };

  return {
    ...adapter,
    create: async (given) =>
      serializeRow(
        given.model,
        await adapter.create({ ...given, data: encodeRow(given.model, given.data) as never }),
      ) as never,
    findOne: async (given) => serializeRow(given.model, await adapter.findOne(given)) as never,
    findMany: async (given) => (await adapter.findMany(given)).map((row) => serializeRow(given.model, row)) as never,
    update: async (given) =>
      serializeRow(given.model, await adapter.update({ ...given, update: change(given.model, given.update) })) as never,
    updateMany: (given) => adapter.updateMany({ ...given, update: change(given.model, given.update) }),
  };
}
