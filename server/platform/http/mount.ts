import { createHash } from "node:crypto";
import { finished, Readable } from "node:stream";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import type { Contract, Operation } from "../../../shared/contract.ts";
import { ApiError, type Fault, rejectHeldMoney } from "../../../shared/errors.ts";
import { withSellerClock } from "../clock.ts";
import type { Config } from "../config.ts";
import { type Actor, anonymous, type Ctx, type Database, type Deps, type Identity } from "../context.ts";
import { withConcurrencyLimit } from "../jobs/concurrency.ts";
import { type AcquireSlot, openHeavySlots, readHeavyWork, runHeavyWork } from "../jobs/heavy-work.ts";
import { runForeground } from "../jobs/priority.ts";
import { noteServed } from "../telemetry/trace.ts";
import { type ActorRequest, authorize, checkIdentity, checkKnown, createActors, type Identify } from "./actor.ts";
import { isAudited, runWithEntry } from "./audit.ts";
import { bytesMax, openBytesMax } from "./body.ts";
import { findHolder, pickOwner, tryAs } from "./candidates.ts";
import { serializeError } from "./errors.ts";
import { isForwarded, isFromInside } from "./from-here.ts";
import { type AnswerOf, checkKey, elsewhere, type IdempotentAnswer, respondOnce } from "./idempotency.ts";
import { changeAsRead, computeTag, findPair, type Pair, rejectCondition } from "./if-match.ts";
import { adapt, type ClientProfile, expectsBareLists } from "./profiles.ts";
import { type Relay, Relayed, type SentRequest } from "./relayed.ts";
import { readFaults } from "./validation-errors.ts";

type Handler = (ctx: Ctx, input: never) => Promise<unknown>;
type Provider = Record<string, Record<string, Handler>>;
type Named = { resource: string; key: string; op: Operation; pair?: Pair | undefined; read?: Handler | undefined };
/** Which of these organizations own the products, or the price, that a body names. */
type FindOwners = (db: Database, organizations: readonly string[], body: object) => Promise<string[]>;

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether many small things come in one body. */
    bulk?: boolean;
    /** The name of the operation of the contract, such as `products.list`. */
    operation?: string;
    /** Whether requests are handed on with their bytes. */
    isRelayed?: boolean;
  }
  interface FastifyRequest {
    /** What the client understands, by its headers. */
    client: ClientProfile;
    /** Who asks, found out before the body is read. */
    identity: Identity;
    /** The body as it came, where the request is handed on. */
    bytes?: Buffer;
  }
}

/** Who makes a request to a route outside the contract, let through under the same rules. */
export async function authenticate(request: FastifyRequest, identify: Identify, op: ActorRequest): Promise<Actor> {
  const identity = await identify(request);
  checkIdentity(identity);
  return listAdmitted(request, identity, op)[0] ?? anonymous;
}

/** Those who may be meant, each let through. */
function listAdmitted(request: FastifyRequest, identity: Identity, op: ActorRequest, relay?: Relay): Actor[] {
  const actors = createActors(identity, relay ? relay.renameOrganization(request) : request, op);
  const [first] = actors;
  // A refused call is in the log of the organization that it was made for.
  if (request.caller && first?.memberships?.some(({ organization_id }) => organization_id === first.organization_id))
    request.caller = { ...request.caller, organization_id: first.organization_id };
  for (const actor of actors) authorize(actor, op, request.method);
  return actors;
}

/**
 * A server on this machine alone takes test cards, and so would one behind a proxy or a tunnel that does not know its public
 * address: to whom comes from outside it takes none, unless the settings say so (ORG-05).
 */
const getConfigFor = ({ config }: Deps, request: FastifyRequest): Config =>
  config.test_cards && config.FLOE_TEST_CARDS !== true && !isFromInside(request)
    ? { ...config, test_cards: false }
    : config;

/** What a request's operation works with: the clock is that of the organization for which it speaks. */
export const createRequestContext = (deps: Deps, request: FastifyRequest, actor: Actor): Ctx => ({
  ...withSellerClock(deps, actor),
  config: getConfigFor(deps, request),
  actor,
  client: request.client,
  ip: request.ip,
  request_id: request.id,
  isForwarded: isForwarded(request),
  extraWrites: [],
});

type MountOptions = { deps: Deps; identify: Identify; findOwners: FindOwners; relay?: Relay | undefined };

/**
 * Give every operation of the contract its route: who, scope, input, handler, answer. Who asks is found out before the body is
 * read: a large one is read of those alone whose token is good.
 */
export function mountOperations(
  app: FastifyInstance,
  contract: Contract,
  provider: Provider,
  { deps, identify, findOwners, relay }: MountOptions,
): void {
  const findCustomer = provider.customers?.getExternal;
  const acquireSlot = openHeavySlots({
    perOrganization: deps.config.FLOE_HEAVY_PER_ORGANIZATION,
    perServer: deps.config.FLOE_HEAVY_PER_SERVER,
  });
  for (const [name, operations] of Object.entries(contract)) {
    const resource = provider[name] ?? {};
    const pair = findPair(operations);
    for (const [key, op] of Object.entries(operations)) {
      const handler = resource[key];
      if (!handler) throw new Error(`The provider has no ${name}.${key}.`);
      app.route({
        method: op.method,
        url: op.path,
        config: { bulk: op.bulk ?? false, operation: `${name}.${key}`, isRelayed: relay !== undefined },
        bodyLimit: op.access.by === "anyone" ? openBytesMax : bytesMax,
        onRequest: async (request) => {
          const identity = await identify(request);
          checkIdentity(identity);
          if (op.access.by !== "anyone") checkKnown(identity);
          request.identity = identity;
        },
        handler: (request, reply) => {
          const runWork = () =>
            handleRequest(
              {
                resource: name,
                key,
                op,
                pair: key === "get" || key === "update" ? pair : undefined,
                read: resource.get,
              },
              handler,
              { findCustomer, findOwners, acquireSlot, deps, relay },
              request,
              reply,
            );
          return op.bulk || op.heavy ? runWork() : runForeground(runWork);
        },
      });
    }
  }
}

type Parts = {
  findCustomer: Handler | undefined;
  findOwners: FindOwners;
  acquireSlot: AcquireSlot;
  deps: Deps;
  /** Present where operations are handed on to another service. */
  relay: Relay | undefined;
};

async function handleRequest(
  named: Named,
  handler: Handler,
  parts: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const actors = listAdmitted(request, request.identity, named.op, parts.relay);
  if (parts.relay) return respondElsewhere(actors, named, handler, parts.deps, parts.relay, request, reply);
  const respondNow = () => respondFor(actors, named, handler, parts, request, reply);
  const { heavy } = named.op;
  // Before the input is read, as that alone takes the process long.
  return heavy ? respondHeavy(actors[0] ?? anonymous, heavy, parts, reply, respondNow) : respondNow();
}

/** Hand a request on: what it says is for the other service to judge, which has one organization. */
function respondElsewhere(
  actors: Actor[],
  named: Named,
  handler: Handler,
  deps: Deps,
  relay: Relay,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const actor = actors.find(({ organization_id: id }) => id !== null && relay.isServed(id)) ?? actors[0] ?? anonymous;
  const { params, query, body = named.op.body ? {} : undefined } = request;
  const gone = new AbortController();
  reply.raw.once("close", () => !reply.raw.writableFinished && gone.abort());
  const { url, headers, id, bytes } = request;
  const sent: SentRequest = { url, headers, id, body: bytes, gone: gone.signal };
  return respondAs(actor, named, handler, { params, query, body }, deps, request, reply, sent);
}

async function respondFor(
  known: Actor[],
  named: Named,
  handler: Handler,
  { findCustomer, findOwners, deps }: Parts,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  const { op } = named;
  let actors = known;
  const input = readInput(op, request);
  if (actors.length > 1 && op.ofProducts) {
    const organizations = actors.map(({ organization_id }) => organization_id ?? "");
    actors = pickOwner(actors, await findOwners(deps.db, organizations, input.body as object));
  }
  if (actors.length > 1 && findCustomer && op.params && "external_id" in op.params.shape)
    actors = await findHolder(actors, (actor) =>
      findCustomer(createRequestContext(deps, request, actor), input as never),
    );
  return tryAs(actors, (actor) => respondAs(actor, named, handler, input, deps, request, reply));
}

/** Answer within the limits of heavy work; the slot is given back with the end of the answer. */
async function respondHeavy<T>(
  { organization_id, user_id }: Actor,
  heavy: NonNullable<Operation["heavy"]>,
  { acquireSlot, deps: { config } }: Parts,
  reply: FastifyReply,
  answerNow: () => Promise<T>,
): Promise<T> {
  const release = await acquireSlot(organization_id ?? user_id ?? "");
  // Also where the caller has gone already.
  finished(reply.raw, release);
  const onGone = (leave: () => void) => {
    if (heavy === "cancel") finished(reply.raw, (early) => early && leave());
  };
  return runHeavyWork({ statementTimeoutMs: config.FLOE_HEAVY_STATEMENT_SECONDS * 1000, onGone }, answerNow);
}

async function respondAs(
  actor: Actor,
  named: Named,
  handler: Handler,
  input: Record<string, unknown>,
  deps: Deps,
  request: FastifyRequest,
  reply: FastifyReply,
  sent?: SentRequest,
) {
  const { op } = named;
  if (actor.is_held && op.method !== "GET" && !op.whileHeld) throw rejectHeld();
  if (actor.is_money_held && hasMovingMoney(op, input.body)) throw rejectHeldMoney();
  if (actor.organization_id !== null) noteServed(actor.organization_id, actor.clock_offset_ms);
  const ctx = { ...createRequestContext(deps, request, actor), ...(sent && { sent }) };
  // How long ago something was is to be said by the clock that dated it.
  if (actor.clock_offset_ms !== 0) reply.header("Floe-Now", ctx.clock.now().toISOString());
  const handle = (inner: Ctx) => handler(inner, input as never);
  const runWork = async (inner: Ctx) => {
    const result = await (isAudited(op, actor) ? runWithEntry(inner, request, named, input, handle) : handle(inner));
    if (result instanceof Relayed) {
      reply.headers(result.headers);
      const { status, json } = result;
      return status >= 400 || json === undefined ? { status, body: json } : { ...wrapAnswer(json), status };
    }
    if (named.pair) reply.header("ETag", computeTag(named.pair, result, op));
    return wrapAnswer(op.response ? z.encode(op.response, result as never) : null);
  };
  const isBare = op.bare === true && expectsBareLists(request.client);
  const wrapAnswer = (wire: unknown): IdempotentAnswer => {
    const known = adapt(request.client, wire);
    const { notKept, status = 200 } = op;
    if (isBare) return { status, body: (known as { items: unknown }).items };
    if (!notKept) return { status, body: known };
    const nulls = Object.fromEntries(notKept.map((name) => [name, null]));
    return { status, body: known, kept: adapt(request.client, { ...(wire as object), ...nulls }) };
  };
  const respondEarly: AnswerOf = (result) => {
    // A refusal that what was written before it led to, and that is the answer from then on.
    if (result instanceof ApiError) return { status: result.status, body: serializeError(result) };
    const encoded = op.response && z.safeEncode(op.response, result as never);
    return encoded?.success ? wrapAnswer(encoded.data) : undefined;
  };
  const { file } = op;
  if (file) {
    const made = await handle(ctx);
    const sendPieces = (pieces: Pieces) => sendFile(reply, file, pieces, deps, acceptsOnlyJson(request));
    if (!(made instanceof Relayed)) return sendPieces(readHeavyWork(made as AsyncIterable<string>));
    reply.headers(made.headers);
    if (!made.stream) return send(reply, made.status, made.json);
    made.stream.setEncoding("utf8");
    return sendPieces(made.stream);
  }
  const key = request.headers["idempotency-key"];
  if (op.method !== "POST" || op.answersOnce || typeof key !== "string") {
    const { pair, read } = named;
    const tag = request.headers["if-match"];
    const isGuarded = pair && read && op === pair.update && tag !== undefined && !sent;
    if (!isGuarded && op.method !== "GET" && !sent) rejectCondition(tag);
    const made = isGuarded
      ? await changeAsRead(ctx, tag, pair, (inner) => read(inner, input as never), runWork)
      : await runWork(ctx);
    return send(reply, made.status, made.body);
  }
  const keyed = {
    // Which organization a person stands in may change by making a further one.
    subject:
      (op.access.by === "person" ? actor.user_id : null) ??
      (actor.customer ? `customer:${actor.customer.customer_id}` : null) ??
      actor.organization_id ??
      actor.user_id ??
      `public:${createHash("sha256").update(request.url).digest("base64url")}`,
    key: checkKey(key),
    request: `${request.method} ${request.url}\n${JSON.stringify(request.body ?? null)}${formatRole(actor)}`,
  };
  const outside = sent ? elsewhere : op.external ? respondEarly : undefined;
  const handleRequest = () => respondOnce(ctx, keyed, outside, runWork);
  // An answer that is kept is written with what it is about, which takes a connection from its beginning.
  const made =
    op.bulk && !sent
      ? await withConcurrencyLimit(deps.db, `bulk ${keyed.subject}`, bulkTurns, handleRequest)
      : await handleRequest();
  if (made.replayed) reply.header("Idempotency-Replayed", "true");
  return send(reply, made.status, made.body);
}

/** What was answered to all that a person may do is no answer to the same request as a role, and the other way round. */
const formatRole = ({ as_role }: Actor): string => (as_role === undefined ? "" : `\n${as_role}`);

const hasMovingMoney = ({ movesMoney = [] }: Operation, body: unknown): boolean =>
  movesMoney === true || movesMoney.some((field) => typeof body === "object" && body !== null && field in body);

const rejectHeld = () =>
  new ApiError(
    "OrganizationHeld",
    "This organization is held while an archive is restored into it. Activate it, and it takes changes again.",
  );

/** So many requests of one organization that bring much are worked on at once, where their answers are kept. */
const bulkTurns = 2;

const send = (reply: FastifyReply, status: number, body: unknown) =>
  status === 204 || body === undefined
    ? reply.code(status).send()
    : reply.code(status).type("application/json; charset=utf-8").send(JSON.stringify(body));

type Pieces = Iterable<string> | AsyncIterable<string>;

/** The oldest SDKs were generated for JSON where a file is answered, and refuse all else: to them it is one text in JSON. */
const acceptsOnlyJson = ({ client, headers }: FastifyRequest): boolean =>
  client.generation === "legacy" && client.fills === true && headers.accept === "application/json";

async function* streamJson(pieces: Pieces): AsyncIterable<string> {
  yield '"';
  for await (const piece of pieces) yield JSON.stringify(piece).slice(1, -1);
  yield '"';
}

/** Send a file as it is made. What fails on the way breaks it off, so that nobody takes a part of it for the whole. */
function sendFile(
  reply: FastifyReply,
  { name, type }: NonNullable<Operation["file"]>,
  pieces: Pieces,
  { log }: Deps,
  asJson: boolean,
) {
  const body = Readable.from(asJson ? streamJson(pieces) : pieces);
  body.on("error", (error) => log.error({ err: error }, "A file was broken off."));
  if (!reply.hasHeader("Content-Disposition")) reply.header("Content-Disposition", `attachment; filename="${name}"`);
  return reply
    .header("Cache-Control", "no-store")
    .type(`${asJson ? "application/json" : type}; charset=utf-8`)
    .send(body);
}

function readInput(op: Operation, request: FastifyRequest): Record<string, unknown> {
  const input: Record<string, unknown> = {};
  const faults: Fault[] = [];
  for (const part of ["params", "query", "body"] as const) {
    const schema = op[part];
    if (!schema) continue;
    const value = part === "body" ? (request.body ?? {}) : part === "query" ? queryOf(op, request) : request[part];
    const result = schema.safeParse(value);
    if (result.success) input[part] = result.data;
    else faults.push(...readFaults([part === "params" ? "path" : part], result.error.issues, value));
  }
  if (faults.length > 0) throw new ApiError("RequestValidationError", faults);
  return input;
}

/** What is asked for beside the body, also by the header that other APIs know for it. */
const queryOf = ({ query }: Operation, request: FastifyRequest): object => ({
  ...(request.query as object),
  ...(query && "representation" in query.shape && /\breturn=representation\b/.test(String(request.headers.prefer ?? ""))
    ? { representation: "true" }
    : {}),
});
