import { type Api, api } from "../../../shared/api/index.ts";
import type { Operation } from "../../../shared/contract.ts";
import { fault, invalid, notFound } from "../../../shared/errors.ts";
import { formatUrl } from "../../../shared/request.ts";
import type { Ctx } from "../../platform/context.ts";
import type { Relayed, SentRequest } from "../../platform/http/relayed.ts";
import type { Provider } from "../../platform/provider.ts";
import { createOrganizationAnswers } from "../organizations.ts";
import { createStateAnswers } from "../state.ts";
import { decodeRelayed } from "./answer.ts";
import type { Hosted } from "./hosted.ts";
import type { Input, OwnAnswers } from "./own-answers.ts";
import { findRefusal, uncheckedFields } from "./refusals.ts";
import { buildBody, buildPath, buildQuery, findPublishedQuery } from "./request.ts";

/**
 * Hosted Polar behind floe's routes, accounts and roles. Each operation follows from its declaration: one that Polar publishes is
 * relayed, the others are refused. The access token belongs to one organization there; to any other nothing exists.
 */
export function createHostedProvider(hosted: Hosted): Provider {
  // The store at / is floe's own page, and Polar has one of its own.
  const own: OwnAnswers = {
    ...createStateAnswers(hosted),
    ...createOrganizationAnswers(hosted),
    "storefront.get": async () => ({ sellers: [] }),
  };
  const resources = Object.entries(api).map(([resource, operations]) => [
    resource,
    Object.fromEntries(
      Object.entries(operations as Record<string, Operation>).map(([name, op]) => [
        name,
        createHandler(hosted, resource as keyof Api, name, op, own[`${resource}.${name}`]),
      ]),
    ),
  ]);
  return Object.fromEntries(resources);
}

function createHandler(hosted: Hosted, resource: keyof Api, name: string, op: Operation, answer?: OwnAnswers[string]) {
  const operation = `${resource}.${name}`;
  const refusal = findRefusal(resource, name, findPublishedQuery(op) !== undefined);
  const unchecked = uncheckedFields[operation] ?? [];
  const relay = async (ctx: Ctx, input: Input): Promise<unknown> => {
    const { sent } = ctx;
    const relayed = await relayOperation(hosted, { operation, op }, ctx, sent, input);
    return sent ? relayed : decodeRelayed(op, relayed);
  };
  return async (ctx: Ctx, input: Input): Promise<unknown> => {
    if (refusal && !answer) throw refusal;
    if (op.access.by !== "anyone") checkServed(hosted, ctx);
    const body = input.body as Record<string, unknown> | undefined;
    const found = unchecked.find((field) => body?.[field] !== undefined);
    if (found !== undefined)
      throw invalid(fault([found], "Hosted Polar does not check this: leave it out.", "value_error", body?.[found]));
    return answer ? answer(ctx, input, (asked) => relay(asked, input)) : relay(ctx, input);
  };
}

/** The organization is the one that Polar has. A person who has not chosen one needs to belong to it. */
function checkServed(hosted: Hosted, { actor }: Ctx): void {
  const { organization_id, organization_ids, memberships = [] } = actor;
  const meant =
    organization_ids ?? (organization_id === null ? memberships.map((one) => one.organization_id) : [organization_id]);
  if (!meant.some((id) => hosted.isServed(id))) throw notFound();
}

async function relayOperation(
  hosted: Hosted,
  { operation, op }: { operation: string; op: Operation },
  ctx: Ctx,
  sent: SentRequest | undefined,
  input: Input,
): Promise<Relayed> {
  const link = hosted.getLink();
  const url = sent?.url ?? formatUrl(op.path, { params: { ...input.params }, query: { ...input.query } });
  const at = url.indexOf("?");
  const [received, query] = at < 0 ? [url, ""] : [url.slice(0, at), url.slice(at + 1)];
  const path = `${buildPath(op, received, link)}${buildQuery(op, query, link)}`;
  const bytes = sent ? sent.body : input.body === undefined ? undefined : Buffer.from(JSON.stringify(input.body));
  const body = op.method === "GET" ? undefined : buildBody(bytes, input.body, link);
  return hosted.relay({ operation, op, path, body, sent, token: await hosted.findToken(op, ctx) });
}
