import { createHash } from "node:crypto";
import { inArray, or, sql } from "drizzle-orm";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { getServerClock } from "../../../platform/clock.ts";
import type { Deps } from "../../../platform/context.ts";
import { hashWithEach } from "../../../platform/crypto/secrets.ts";
import { refusedCalls } from "../../../platform/db/tables.ts";
import type { Caller } from "../../../platform/http/refused-calls.ts";
import { createId } from "../../../platform/ids.ts";
import { redactError } from "../../../platform/loggable.ts";
import { organization } from "../../organizations/tables.ts";
import { accountBase, accountCalls, resolvePath } from "../calls.ts";
import { keyPrefixes } from "../keys/identify.ts";
import { hashSecret } from "../storage.ts";
import { apikey, member, session } from "../tables.ts";

/** The action of the entries. */
export const refusedAction = "call.refused";

const flushEveryMs = 5000;
const hourMs = 60 * 60 * 1000;
/** How many different refusals of one organization are counted apart in an hour; the others are counted together. */
const groupsPerOwnerMax = 100;
const groupsMax = 10_000;
/** How many credentials are looked up at a time. Further ones are not recorded. */
const credentialsMax = 1000;
const textLengthMax = 500;
const recordedStatuses: ReadonlySet<number> = new Set([401, 403, 404, 429]);

type Call = {
  operation: string;
  reason: string;
  status: number;
  ip_address: string | null;
  user_agent: string | null;
};
type Counted = Omit<Caller, "kind"> & Call & { kind: Caller["kind"] | "system" };
type Group = Omit<typeof refusedCalls.$inferInsert, "count"> & { pending: number };
type Unidentified = { hashes: string[]; calls: Call[] };
export type RefusedCalls = ReturnType<typeof createRefusedCalls>;

/**
 * Counts refused calls for the audit log. A call is counted in memory, and the counts are written every few seconds by one statement:
 * a flood of refusals costs no transaction of its own, and leaves a bounded number of rows.
 */
export function createRefusedCalls(deps: Deps) {
  const groups = new Map<string, Group>();
  const sizes = new Map<string, number>();
  const unidentified = new Map<string, Unidentified>();

  /** Count a call that was refused to a caller. */
  function add(caller: Caller, call: Call, count = 1): void {
    const now = getServerClock(deps.clock).now();
    const hour = now.getTime() - (now.getTime() % hourMs);
    const owner = caller.organization_id ?? (caller.user_id === null ? null : `user ${caller.user_id}`);
    if (owner === null) return;
    const counted: Counted = { ...caller, ...call };
    const counted_key = getKey(hour, counted);
    const existing = groups.get(counted_key);
    const size = sizes.get(`${hour} ${owner}`) ?? 0;
    const isFull = !existing && (size >= groupsPerOwnerMax || groups.size >= groupsMax);
    const placed = isFull ? mergeOthers(counted) : counted;
    const key = isFull ? getKey(hour, placed) : counted_key;
    const group = existing ?? groups.get(key);
    if (group) {
      group.pending += count;
      Object.assign(group, { last_at: now, ip_address: placed.ip_address, user_agent: placed.user_agent });
      return;
    }
    if (!isFull) sizes.set(`${hour} ${owner}`, size + 1);
    const { kind: actor_kind, ...columns } = placed;
    groups.set(key, { ...columns, key, id: createId(now), actor_kind, pending: count, created_at: now, last_at: now });
  }

  /** Count a call whose credential nobody has looked up, or that is good no more. Whose it is is found out with the next write. */
  function addUnidentified(credential: string, call: Call): void {
    const hashes =
      credential.startsWith(keyPrefixes.organization) || credential.startsWith(keyPrefixes.default)
        ? hashWithEach(deps.config.secrets, credential)
        : [hashSecret(credential.split(".")[0] ?? "")];
    const [name = ""] = hashes;
    const known = unidentified.get(name);
    if (!known && unidentified.size >= credentialsMax) return;
    const entry = known ?? { hashes, calls: [] };
    unidentified.set(name, entry);
    if (entry.calls.length < groupsPerOwnerMax) entry.calls.push(call);
  }

  async function identify(): Promise<void> {
    const waiting = [...unidentified.values()];
    unidentified.clear();
    if (waiting.length === 0) return;
    const callers = await findCallers(
      deps,
      waiting.flatMap(({ hashes }) => hashes),
    );
    for (const { hashes, calls } of waiting) {
      const caller = hashes.map((hash) => callers.get(hash)).find((found) => found !== undefined);
      if (caller) for (const call of calls) add(caller, call);
    }
  }

  async function flush(): Promise<void> {
    await identify();
    const changed = [...groups.values()].filter(({ pending }) => pending > 0);
    const counts = changed.map(({ pending }) => pending);
    for (const group of changed) group.pending = 0;
    try {
      if (changed.length > 0)
        await write(
          deps,
          changed.map((group, index) => ({ ...group, count: counts[index] ?? 0 })),
        );
    } catch (error) {
      for (const [index, group] of changed.entries()) group.pending += counts[index] ?? 0;
      throw error;
    }
    const hour_start = getServerClock(deps.clock).now().getTime() - hourMs;
    for (const [key, { pending, created_at }] of groups)
      if (pending === 0 && created_at.getTime() < hour_start) groups.delete(key);
    for (const name of sizes.keys()) if (Number.parseInt(name, 10) < hour_start) sizes.delete(name);
  }

  const timer = setInterval(() => {
    flush().catch((error: unknown) =>
      deps.log.warn({ error: redactError(error) }, "Refused calls were not written to the audit log yet."),
    );
  }, flushEveryMs);
  timer.unref();
  return {
    add,
    addUnidentified,
    flush,
    async close() {
      clearInterval(timer);
      await flush();
    },
  };
}

/** What a group counts, as the key of its row. */
function getKey(hour: number, call: Counted): string {
  const { kind, organization_id, user_id, key_id, operation, reason, status } = call;
  const text = JSON.stringify([hour, kind, organization_id, user_id, key_id, operation, reason, status]);
  return createHash("sha256").update(text).digest("base64url");
}

/** The group of an organization, or of a person, in which calls beyond the limit are counted. */
const mergeOthers = (call: Counted): Counted => ({
  ...call,
  kind: call.organization_id === null ? call.kind : "system",
  user_id: call.organization_id === null ? call.user_id : null,
  key_id: null,
  operation: "*",
  reason: "*",
  status: 0,
});

const selectMembership = (user_id: typeof apikey.userId | typeof session.userId) =>
  sql<string | null>`(select ${member.organizationId} from ${member} where ${member.userId} = ${user_id}
    order by ${member.createdAt} limit 1)`;

/** Whose API keys and sessions these hashes are; also of those that are expired, disabled or used up. */
async function findCallers({ db }: Deps, hashes: string[]): Promise<Map<string, Caller>> {
  const [keys, sessions] = await Promise.all([
    db
      .select({
        hash: apikey.key,
        previous: apikey.previousKey,
        key_id: apikey.id,
        user_id: apikey.userId,
        organization_id: sql<string | null>`coalesce(${apikey.organizationId}, ${selectMembership(apikey.userId)})`,
      })
      .from(apikey)
      .where(or(inArray(apikey.key, hashes), inArray(apikey.previousKey, hashes))),
    db
      .select({
        hash: session.token,
        user_id: session.userId,
        organization_id: sql<
          string | null
        >`coalesce(${session.activeOrganizationId}, ${selectMembership(session.userId)})`,
      })
      .from(session)
      .where(inArray(session.token, hashes)),
  ]);
  const found = new Map<string, Caller>();
  for (const { hash, previous, ...caller } of keys)
    for (const one of [hash, previous]) if (one !== null) found.set(one, { kind: "key", ...caller });
  for (const { hash, ...caller } of sessions) found.set(hash, { kind: "user", key_id: null, ...caller });
  return found;
}

/** Add counts to their rows. What is of an organization that is gone, or that a person has left, is of the person alone. */
async function write({ db }: Deps, rows: (Group & { count: number })[]): Promise<void> {
  await db.execute(sql`insert into ${refusedCalls}
      (key, id, organization_id, actor_kind, user_id, key_id, operation, reason, status, count, ip_address, user_agent,
        created_at, last_at)
    select call.key, call.id, owner.id, call.actor_kind, call.user_id, call.key_id, call.operation, call.reason, call.status,
      call.count, call.ip_address, call.user_agent, call.created_at, call.last_at
    from json_to_recordset(${JSON.stringify(rows)}::json) as call (key text, id uuid, organization_id text, actor_kind text,
      user_id text, key_id text, operation text, reason text, status integer, count integer, ip_address text, user_agent text,
      created_at timestamptz, last_at timestamptz)
    left join ${organization} as owner on owner.id = call.organization_id and (call.user_id is null or exists (
      select from ${member} where ${member.organizationId} = owner.id and ${member.userId} = call.user_id))
    where owner.id is not null or call.user_id is not null
    order by call.key
    on conflict (key) do update set count = ${refusedCalls.count} + excluded.count, last_at = excluded.last_at,
      ip_address = excluded.ip_address, user_agent = excluded.user_agent`);
}

/** A call by its method and its path as it is declared; undefined where there is no such call. */
function findOperation({ method, url, routeOptions }: FastifyRequest): string | undefined {
  if (routeOptions.url !== `${accountBase}/*`) return `${method} ${routeOptions.url}`;
  const path = resolvePath(url.slice(accountBase.length).split("?")[0]?.replace(/\/+$/, "") ?? "");
  return Object.hasOwn(accountCalls, path) ? `${method} ${accountBase}${path}` : undefined;
}

/** Count the calls of these routes that are refused to somebody: for want of a permission, a row, a good credential or patience. */
export function recordRefusedCalls(
  scope: FastifyInstance,
  { add, addUnidentified }: Pick<RefusedCalls, "add" | "addUnidentified">,
  findCredential: (request: FastifyRequest) => { text: string } | undefined,
): void {
  scope.addHook("onResponse", async (request, { statusCode: status }) => {
    if (!recordedStatuses.has(status) || request.is404) return;
    const { caller, headers, ip } = request;
    const operation = findOperation(request);
    if (operation === undefined) return;
    const call: Call = {
      operation,
      reason: request.refusal ?? String(status),
      status,
      ip_address: caller?.kind === "customer" ? null : ip,
      user_agent: caller?.kind === "customer" ? null : (headers["user-agent"]?.slice(0, textLengthMax) ?? null),
    };
    if (caller) return add(caller, call);
    const credential = findCredential(request);
    if (credential) addUnidentified(credential.text, call);
  });
}
