/** CI rules: jobs of a repository exchange the token of their CI service for a key of a few minutes (TOK-16 to TOK-19). */
import { createHash } from "node:crypto";
import { and, asc, eq, gt, isNull, lte, or, sql } from "drizzle-orm";
import { decodeJwt, errors, type JWTPayload, jwtVerify } from "jose";
import { type CiRule, ciIssuers, type ciRules as operations } from "../../../../shared/api/ci-rules.ts";
import type { Service } from "../../../../shared/contract.ts";
import { ApiError, fault, invalid, notFound, notPermitted } from "../../../../shared/errors.ts";
import { expandScopes } from "../../../../shared/scopes.ts";
import { getServerClock } from "../../../platform/clock.ts";
import { anonymous, type Ctx, requireOrganization, requireOrganizations, type Tx } from "../../../platform/context.ts";
import { buildPage, listRows, matchOrganizations, orderBy } from "../../../platform/db/page.ts";
import { matchKey } from "../../../platform/db/rows.ts";
import { transact } from "../../../platform/db/unit-of-work.ts";
import { record } from "../../../platform/events/audit.ts";
import { findReach, findRefusal } from "../../../platform/external/outbound.ts";
import { UnreadableDocumentError } from "../../../platform/external/read-json.ts";
import { createId } from "../../../platform/ids.ts";
import { organization } from "../../organizations/tables.ts";
import { checkFresh, checkScopes, checkSession, lockMaker } from "../keys/makers.ts";
import { insertKey } from "../keys/store.ts";
import { sendSecurityMail } from "../people/security-mails.ts";
import { apikey, ciExchanges, ciRules } from "../tables.ts";
import { openIssuers } from "./issuers.ts";
import { findMakerScopes } from "./makers.ts";
import { describeClaim, findMismatch, findRule, getRepositoryId } from "./rules.ts";

type Row = typeof ciRules.$inferSelect;

const rulesMax = 100;
/** Keys of one rule that are good at the same time. */
const keysMax = 50;
const clockToleranceSeconds = 30;
/** Signatures that a public key checks; with any other a token's reader could have made it. */
const algorithms = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"];

const sortable = {
  created_at: ciRules.created_at,
  repository: ciRules.repository,
  last_used_at: ciRules.last_used_at,
};
const serializeRule = (row: Row): CiRule => row;

/** The keys of issuers, once for each server of this process. */
const opened = new WeakMap<object, ReturnType<typeof openIssuers>>();
function getIssuers({ jobs, clock, config }: Ctx): ReturnType<typeof openIssuers> {
  const known = opened.get(jobs) ?? openIssuers(getServerClock(clock), findReach(config));
  opened.set(jobs, known);
  return known;
}

/** Refuse an issuer that may not be asked for its keys. */
function checkIssuer({ config }: Ctx, issuer: string): void {
  const reach = findReach(config);
  const isSecure = issuer.startsWith("https://") || reach.private_allowed;
  const refusal = isSecure ? findRefusal(issuer, reach) : "The issuer must begin with https://.";
  if (refusal !== undefined) throw invalid(fault(["issuer"], refusal, "value_error", issuer));
}

/** The person in whose name a rule is made: who asks, or who made the key that asks. */
async function findMaker(tx: Tx, { actor }: Ctx): Promise<string> {
  const maker = await lockMaker(tx, actor);
  if (maker?.expiresAt) throw notPermitted("A key that ends makes no CI rules, which do not.");
  const user_id = actor.user_id ?? maker?.createdBy;
  if (!user_id) throw notPermitted("A CI rule is made in the name of a person, and this key has none.");
  return user_id;
}

/** The rules of an organization for an issuer. Of one that is not there, or is blocked, there are none. */
const findRules = (ctx: Ctx, named: string, issuer: string): Promise<Row[]> =>
  ctx.db
    .select({ rule: ciRules })
    .from(ciRules)
    .innerJoin(organization, eq(organization.id, ciRules.organization_id))
    .where(
      and(
        or(eq(organization.id, named.toLowerCase()), eq(sql`lower(${organization.slug})`, named.toLowerCase())),
        eq(ciRules.issuer, issuer),
        isNull(organization.blocked_at),
      ),
    )
    .orderBy(asc(ciRules.id))
    .limit(rulesMax)
    .then((rows) => rows.map(({ rule }) => rule));

const noRule = "No CI rule of this organization lets this token in.";
const hint = "See `floe ci-rules list`, and the audience, repository, branch and environment of the job.";

/** Who the issuer of a token says that it is, not verified yet. */
function readIssuer(token: string): string {
  try {
    const { iss } = decodeJwt(token);
    if (typeof iss === "string") return iss;
  } catch {
    // Said below.
  }
  throw notPermitted("This is no token of a CI job.");
}

/** What a token says, once its signature, its times and its issuer are verified. */
async function verifyToken(ctx: Ctx, token: string, issuer: string): Promise<JWTPayload> {
  try {
    const { payload } = await jwtVerify(token, getIssuers(ctx)(issuer), {
      issuer,
      algorithms,
      clockTolerance: clockToleranceSeconds,
      currentDate: getServerClock(ctx.clock).now(),
      requiredClaims: ["exp", "iat", "sub", "aud"],
    });
    return payload;
  } catch (error) {
    if (error instanceof UnreadableDocumentError)
      throw new ApiError("ServiceUnavailable", `The keys of ${issuer} cannot be read. ${error.message}`, {
        "Retry-After": "30",
      });
    if (error instanceof errors.JWTExpired) throw notPermitted("The token of the job has expired.");
    if (error instanceof errors.JOSEError)
      throw notPermitted(`The token of the job is not accepted: ${error.message}.`);
    throw error;
  }
}

/** Refuse a token that was exchanged before. */
async function useToken(tx: Tx, { organization_id }: Row, token: string, claims: JWTPayload): Promise<void> {
  // The signature is no part of it: there may be several of the same text.
  const id = claims.jti === undefined ? token.slice(0, token.lastIndexOf(".")) : `${claims.iss} ${claims.jti}`;
  const token_hash = createHash("sha256").update(id).digest("hex");
  const expires_at = new Date(((claims.exp ?? 0) + clockToleranceSeconds) * 1000);
  const [used] = await tx
    .insert(ciExchanges)
    .values({ organization_id, token_hash, expires_at })
    .onConflictDoNothing()
    .returning();
  if (!used) throw notPermitted("The token of this job was exchanged before: each is good for one key.");
}

/** Refuse one more key of a rule than may be good at a time. Those that have ended are forgotten. */
async function makeRoom(tx: Tx, rule: Row, now: Date): Promise<void> {
  const isOfRule = and(eq(apikey.organizationId, rule.organization_id), eq(apikey.ciRuleId, rule.id));
  await tx.delete(apikey).where(and(isOfRule, lte(apikey.expiresAt, now)));
  if ((await tx.$count(apikey, and(isOfRule, gt(apikey.expiresAt, now)))) >= keysMax)
    throw new ApiError("TooManyRequests", `At most ${keysMax} keys of a CI rule are good at a time.`, {
      "Retry-After": "60",
    });
}

async function issueKey(tx: Tx, ctx: Ctx, rule: Row, claims: JWTPayload) {
  const now = getServerClock(ctx.clock).now();
  await makeRoom(tx, rule, now);
  const held = await findMakerScopes(tx, rule.organization_id, rule.id, now);
  const scopes = [...expandScopes(rule.scopes)].filter((scope) => held?.has(scope));
  if (scopes.length === 0) throw notPermitted("The person who made this CI rule may no longer do what it gives.");
  const { row, key } = await insertKey(tx, ctx, now, {
    owner: { organizationId: rule.organization_id, userId: null },
    createdBy: rule.user_id,
    name: `CI ${rule.repository}`.slice(0, 100),
    scopes,
    expiresIn: rule.lasts_seconds,
    more: { ciRuleId: rule.id },
  });
  await tx
    .update(ciRules)
    .set({ last_used_at: now, repository_id: rule.repository_id ?? getRepositoryId(rule, claims) })
    .where(matchKey(ciRules, rule));
  await record(tx, ctx, {
    action: "ci_rule.used",
    actor: { ...anonymous, kind: "system" },
    subject: { type: "ci_rule", id: rule.id },
    organization_id: rule.organization_id,
    details: { key_id: row.id, subject: describeClaim(claims, "sub") },
    ip_address: ctx.ip,
    user_agent: null,
  });
  return {
    organization_id: rule.organization_id,
    ci_rule_id: rule.id,
    token: key,
    scopes,
    expires_at: row.expiresAt ?? now,
  };
}

/** A rule under its lock, so that none is used while it is deleted. */
async function lockRule(tx: Tx, organization_id: string, id: string): Promise<Row> {
  const [row] = await tx.select().from(ciRules).where(matchKey(ciRules, { organization_id, id })).for("update");
  if (!row) throw notFound();
  return row;
}

export const ciRuleService: Service<typeof operations, Ctx> = {
  async list(ctx, { query }) {
    const { items, total } = await listRows(ctx.db, ciRules, {
      where: matchOrganizations(ciRules.organization_id, requireOrganizations(ctx)),
      order: orderBy(query.sorting, sortable, ciRules.id),
      paging: query,
    });
    return buildPage(items.map(serializeRule), total, query);
  },
  create: (ctx, { body }) =>
    transact(ctx, async (tx) => {
      const { actor } = ctx;
      const { provider, issuer = ciIssuers[provider], audience = ctx.config.url } = body;
      const organization_id = requireOrganization(ctx);
      const now = getServerClock(ctx.clock).now();
      checkSession(actor);
      checkFresh(actor, now);
      checkScopes(body.scopes, actor);
      checkIssuer(ctx, issuer);
      const user_id = await findMaker(tx, ctx);
      // Its lock keeps many requests at once within the limit.
      await tx.select().from(organization).where(eq(organization.id, organization_id)).for("no key update");
      if ((await tx.$count(ciRules, eq(ciRules.organization_id, organization_id))) >= rulesMax)
        throw invalid(fault([], `There are at most ${rulesMax} CI rules. Delete those that nothing uses.`, "too_long"));
      const [row] = await tx
        .insert(ciRules)
        .values({
          id: createId(now),
          organization_id,
          created_at: now,
          modified_at: null,
          user_id,
          provider,
          issuer,
          audience,
          repository: body.repository,
          repository_id: null,
          branch: body.branch ?? null,
          environment: body.environment ?? null,
          scopes: body.scopes,
          lasts_seconds: body.lasts_seconds,
        })
        .returning();
      if (!row) throw new Error("The CI rule was not written.");
      await sendSecurityMail(tx, ctx, {
        action: "ci_rule.created",
        actor,
        subject: { type: "ci_rule", id: row.id },
        organization_id,
        details: { userId: user_id },
        ip_address: ctx.ip,
        user_agent: null,
      });
      return serializeRule(row);
    }),
  delete: (ctx, { params }) =>
    transact(ctx, async (tx) => {
      checkSession(ctx.actor);
      const row = await lockRule(tx, requireOrganization(ctx), params.id);
      // Its keys go with it, by their foreign key.
      await tx.delete(ciRules).where(matchKey(ciRules, row));
    }),
  async exchange(ctx, { body: { organization: named, token } }) {
    const issuer = readIssuer(token);
    const rules = await findRules(ctx, named, issuer);
    // Nobody makes the server ask an issuer that no rule trusts.
    if (rules.length === 0) throw notPermitted(`${noRule} ${hint}`);
    const claims = await verifyToken(ctx, token, issuer);
    const found = findRule(rules, claims);
    if ("mismatch" in found) {
      const said = found.mismatch && `Its ${found.mismatch} is ${describeClaim(claims, found.mismatch)}. `;
      throw notPermitted(`${noRule} ${said ?? ""}${hint}`);
    }
    return transact(ctx, async (tx) => {
      const { id, organization_id } = found.rule;
      const rule = await lockRule(tx, organization_id, id).catch((error: unknown) => {
        throw error instanceof ApiError ? notPermitted(`${noRule} ${hint}`) : error;
      });
      // Another job may have been the first meanwhile, of a repository with another id.
      if (findMismatch(rule, claims) !== undefined) throw notPermitted(`${noRule} ${hint}`);
      await useToken(tx, rule, token, claims);
      return issueKey(tx, ctx, rule, claims);
    });
  },
};
