import type { FastifyRequest } from "fastify";
import type { Operation } from "../../../shared/contract.ts";
import type { Actor, Ctx } from "../context.ts";
import type { Database, ExtraWrite, TransactionUnit } from "../db/transaction.ts";
import { isCommitting } from "../db/unit-of-work.ts";
import { record } from "../events/audit.ts";
import { Relayed } from "./relayed.ts";

type Named = { resource: string; key: string; op: Operation };
type Input = Record<string, unknown>;

/** Whether an operation leaves an entry: what a key or a signed-in person changes, not what buyers do in a checkout, nor what comes in by the million. */
export const isAudited = (op: Operation, actor: Actor): boolean =>
  !op.bulk &&
  op.access.scopes.some((scope) => scope.endsWith(":write")) &&
  (actor.kind === "key" || actor.kind === "user");

/** What an operation is called in the log: `product.created` of `products.create`, unless it names itself, or what is sent does. */
export function getAction({ resource, key, op }: Named, body: unknown = {}): string {
  const named = typeof op.audit === "function" ? op.audit((body ?? {}) as Record<string, unknown>) : op.audit;
  if (named !== undefined) return named;
  const subject = resource.replace(/s$/, "").replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  const verb = key.replace(/[A-Z].*$/, "");
  return `${subject}.${verb}${verb.endsWith("e") ? "d" : "ed"}`;
}

/**
 * Do the work of an operation, and write the entry of it in the transaction in which the work is done: the first that it
 * opens and that holds. So every operation is in the log, whichever domain it is of, if and only if its change is made. What
 * opens none, because the change is made elsewhere, is written down when it has succeeded.
 */
export async function runWithEntry<T>(
  ctx: Ctx,
  request: FastifyRequest,
  named: Named,
  input: Input,
  work: (ctx: Ctx) => Promise<T>,
): Promise<T> {
  const write = (db: Database, result: unknown) => {
    const action = getAction(named, input.body);
    const subject = { type: action.split(".")[0] ?? "", id: findId(input.params) ?? findId(result) ?? null };
    return record(db, ctx, {
      action,
      actor: ctx.actor,
      subject,
      // What speaks for no organization makes one: it stands in the log of that. One made elsewhere has none here.
      organization_id:
        named.op.access.by === "person" && !(result instanceof Relayed) ? subject.id : ctx.actor.organization_id,
      // Who tried a role has done it themselves all the same.
      details: { ...getDetails(input), ...(ctx.actor.as_role !== undefined && { as_role: ctx.actor.as_role }) },
      ip_address: ctx.ip,
      user_agent: request.headers["user-agent"] ?? null,
    });
  };
  let noted: TransactionUnit | undefined;
  const isWritten = () => noted !== undefined && isCommitting(noted);
  const writeExtra: ExtraWrite = async (tx, result) => {
    if (isWritten()) return;
    noted = tx.unit;
    await write(tx, result);
  };
  const result = await work({ ...ctx, extraWrites: [...ctx.extraWrites, writeExtra] });
  // What another service refused was not done.
  const isRefused = result instanceof Relayed && result.status >= 400;
  if (!isWritten() && !isRefused) await write(ctx.db, result);
  return result;
}

function findId(value: unknown): string | undefined {
  const from = value instanceof Relayed ? value.json : value;
  return typeof from === "object" && from !== null && "id" in from && typeof from.id === "string" ? from.id : undefined;
}

/** The names of what was sent, never the values; and by which id of the seller's own, where it was by that. */
function getDetails({ params, body }: Input): Record<string, unknown> {
  const fields = typeof body === "object" && body !== null ? Object.keys(body) : [];
  const external_id =
    typeof params === "object" && params !== null && "external_id" in params ? params.external_id : undefined;
  return { ...(fields.length > 0 && { fields }), ...(external_id !== undefined && { external_id }) };
}
