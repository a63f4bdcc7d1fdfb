import { api } from "../../shared/api/index.ts";
import { ApiError } from "../../shared/errors.ts";
import type { Ctx } from "../platform/context.ts";
import { Relayed } from "../platform/http/relayed.ts";
import { buildObject } from "./mirror/rules.ts";
import { findCustomerByExternalId, findState, type MirrorRow, storeObject } from "./mirror/store.ts";
import { decodeRelayed } from "./relay/answer.ts";
import type { Hosted } from "./relay/hosted.ts";
import type { OwnAnswers } from "./relay/own-answers.ts";

type Answer = OwnAnswers[string];
const op = api.customers.getState;
/** Without any event for so long, events may have stopped: the state is read from Polar. */
const currentMs = 24 * 60 * 60 * 1000;

/**
 * The state of a customer, from the mirror while it is as new as all that was told of the customer, and from Polar otherwise.
 * Without events the mirror would stand still, so without a webhook endpoint Polar is always asked.
 */
export function createStateAnswers(hosted: Hosted): OwnAnswers {
  const find = async (ctx: Ctx, id: string): Promise<{ row: MirrorRow; isCurrent: boolean } | undefined> => {
    const found = await findState(ctx.db, ctx.config, hosted.requireLink().organization_id, id);
    if (!found) return undefined;
    const { row, isCustomerDeleted, newest_part_at } = found;
    const isOld = ctx.clock.now().getTime() - row.event_at.getTime() > currentMs;
    const isCurrent = !isOld && !isCustomerDeleted && (newest_part_at === null || newest_part_at <= row.event_at);
    return { row, isCurrent };
  };
  const respond = (ctx: Ctx, { data, event_at }: MirrorRow, isStale = false) => {
    const headers = { "Floe-As-Of": event_at.toISOString(), ...(isStale ? { "Floe-Stale": "true" } : {}) };
    const relayed = new Relayed(200, data, headers);
    return ctx.sent ? relayed : decodeRelayed(op, relayed);
  };
  const resolveState = async (ctx: Ctx, id: string | undefined, isFresh: boolean, relay: () => Promise<unknown>) => {
    const found = id === undefined ? undefined : await find(ctx, id);
    if (found?.isCurrent && !isFresh && (await hosted.secrets.isListening())) return respond(ctx, found.row);
    const event_at = ctx.clock.now();
    try {
      const made = await relay();
      if (!(made instanceof Relayed) || made.status !== 200) return made;
      const told = { source: "read", event_at, via: "read" as const };
      const object = buildObject("customer_state", made.json as Record<string, unknown>, told);
      if (object) await storeObject(ctx.db, ctx.config, hosted.requireLink().organization_id, object);
      return new Relayed(200, made.json, { ...made.headers, "Floe-As-Of": event_at.toISOString() });
    } catch (error) {
      const isOutage = error instanceof ApiError && error.error === "ServiceUnavailable";
      if (!isOutage || !found || found.isCurrent === undefined) throw error;
      return respond(ctx, found.row, true);
    }
  };
  const isFresh = (query: unknown): boolean => (query as { fresh?: unknown } | undefined)?.fresh === "true";
  /** The question whether to ask Polar is floe's own. */
  const removeFresh = (ctx: Ctx): Ctx =>
    ctx.sent ? { ...ctx, sent: { ...ctx.sent, url: ctx.sent.url.replace(/([?&])fresh=true(&|$)/, "$1") } } : ctx;
  const getState: Answer = (ctx, { params, query }, relay) =>
    resolveState(ctx, String(params?.id), isFresh(query), () => relay(removeFresh(ctx)));
  const getStateExternal: Answer = async (ctx, { params, query }, relay) => {
    const { organization_id } = hosted.requireLink();
    const known = await findCustomerByExternalId(ctx.db, organization_id, String(params?.external_id));
    return resolveState(ctx, known?.id, isFresh(query), () => relay(removeFresh(ctx)));
  };
  return { "customers.getState": getState, "customers.getStateExternal": getStateExternal };
}
