import { readdir, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Check, diagnostics } from "../../../shared/api/diagnostics.ts";
import type { Service } from "../../../shared/contract.ts";
import { notFound } from "../../../shared/errors.ts";
import { findOrganization } from "../../identity/organizations/store.ts";
import { getServerClock } from "../../platform/clock.ts";
import { type Ctx, requireOrganization } from "../../platform/context.ts";
import { createId } from "../../platform/ids.ts";
import type { ProcessorSetup } from "../../platform/processors/processor.ts";
import { readVersion } from "../../platform/version.ts";
import { partialSuffix } from "../backup/format.ts";
import { findLeftOver } from "../restore/detection.ts";
import {
  buildCheck,
  checkDeadLetters,
  checkEndpoints,
  checkKeys,
  checkMoney,
  checkSales,
  checkServer,
  lateMailMs,
} from "./rules.ts";
import * as store from "./store.ts";

/** How long the file storage may take for a probe. */
const probeMsMax = 8000;
/** Newer backups than these thousand names are not looked for. */
const backupsMax = 1000;

/**
 * Whether the caller runs the server: a platform admin with a full sign-in, or on a developer's own machine everyone whose
 * request no proxy has forwarded.
 */
export async function isOperator({ actor, config, db, isForwarded }: Ctx): Promise<boolean> {
  const { user_id, kind, limited, impersonated_by, as_role } = actor;
  // No role of an organization gives what an operator may do.
  if (as_role !== undefined) return false;
  if (config.development && !isForwarded) return true;
  if (user_id === null || kind !== "user" || limited || impersonated_by) return false;
  return config.admin_user_ids.includes(user_id) || store.hasAdminRole(db, user_id);
}

/** Checks of a store and its server. The seller sees those of the store, the operator those of the server too. */
export const diagnosticService: Service<typeof diagnostics, Ctx> = {
  async get(ctx, { query }) {
    const organization_id = requireOrganization(ctx);
    const organization = await findOrganization(ctx.db, organization_id);
    if (!organization) throw notFound();
    const goLive = query.go_live === true;
    const operator = await isOperator(ctx);
    const { actor, config, db } = ctx;
    return {
      now: getServerClock(ctx.clock).now(),
      version: readVersion(),
      schema: await store.countMigrations(db),
      url: config.url,
      client_address: ctx.ip,
      organization_id,
      sandbox: organization.sandbox,
      operator,
      credential: {
        kind: actor.kind,
        scopes: [...actor.scopes].sort(),
        expires_at: actor.key_id === null ? null : await store.findKeyEnd(db, actor.key_id),
      },
      checks: [
        ...checkSales({ sandbox: organization.sandbox, config }, goLive),
        ...(organization.sandbox ? [] : [checkMoney(organization.money_held_at)]),
        ...(await inspectOrganization(ctx, organization_id)),
        ...(operator ? await inspectServer(ctx, goLive) : [hiddenServer]),
      ],
    };
  },
};

const hiddenServer = buildCheck(
  "server",
  "skipped",
  "Mail, disk, storage, backups and all dead letters are shown to the operator of the server.",
  "Sign in as a user of FLOE_ADMIN_USER_IDS: `floe login`",
);

async function inspectOrganization(ctx: Ctx, organization_id: string): Promise<Check[]> {
  const { actor, db } = ctx;
  const now = getServerClock(ctx.clock).now();
  const missing = "Needs the scope webhooks:read.";
  const webhooks = actor.scopes.has("webhooks:read")
    ? checkEndpoints(await store.listEndpointFacts(db, organization_id), ctx.clock.now())
    : [buildCheck("webhooks", "skipped", missing, "Use a key with it: `floe api-keys create`")];
  const { count, kinds } = await store.countDeadLetters(db, organization_id);
  return [
    ...webhooks,
    checkKeys(await store.listKeys(db, organization_id), now),
    checkDeadLetters("dead_letters", count, kinds),
  ];
}

async function inspectServer(ctx: Ctx, goLive: boolean): Promise<Check[]> {
  const { config, db, jobs } = ctx;
  const now = getServerClock(ctx.clock).now();
  const { count, kinds } = await store.countDeadLetters(db);
  const facts = {
    config,
    isWorking: jobs.working(),
    isForwarded: ctx.isForwarded,
    client_address: ctx.ip,
    lateMails: await store.countLateMails(db, new Date(now.getTime() - lateMailMs)),
    disks: await measureDisks(ctx),
    storageFault: await probeStorage(ctx),
    backedUpAt: await findBackup(config.FLOE_BACKUPS_DIR),
    leftOver: await findLeftOver(db),
    processor: await inspectProcessor(ctx),
  };
  return [checkDeadLetters("server_dead_letters", count, kinds), ...checkServer(facts, now, goLive)];
}

const describeError = (error: unknown): string =>
  ((error instanceof Error && error.message) || String(error)).slice(0, 300);

async function measureDisks({ config }: Ctx): Promise<{ folder: string; free_bytes: number }[]> {
  const files = config.S3_BUCKET ? [] : [config.FLOE_FILES_DIR ?? config.FLOE_DATA_DIR];
  const folders = new Set([...(config.embedded ? [config.FLOE_DATA_DIR] : []), ...files].map((name) => resolve(name)));
  return Promise.all([...folders].map(async (folder) => ({ folder, free_bytes: await measureFree(folder) })));
}

/** The free space of the disk that a folder is on, or will be: it is made with its first file. */
async function measureFree(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch (error) {
    const parent = dirname(folder);
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || parent === folder) throw error;
    return measureFree(parent);
  }
}

/** Write, read and remove a small file; answers what fails. */
async function probeStorage({ storage, clock }: Ctx): Promise<string | null> {
  const id = createId(getServerClock(clock).now());
  const bytes = Buffer.from(id);
  const file = {
    path: `diagnostics/probe/${id}/probe.txt`,
    name: "probe.txt",
    mime_type: "text/plain",
    size: bytes.byteLength,
  };
  const probe = async (): Promise<string | null> => {
    await storage.write(file, bytes);
    const parts: Buffer[] = [];
    for await (const part of (await storage.read(file.path)) ?? []) parts.push(part as Buffer);
    await storage.remove(file.path, null);
    return Buffer.concat(parts).equals(bytes) ? null : "what was written is not what was read.";
  };
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((done) => {
    timer = setTimeout(() => done(`no answer within ${probeMsMax / 1000} s.`), probeMsMax);
  });
  return Promise.race([probe().catch(describeError), late]).finally(() => clearTimeout(timer));
}

async function findBackup(folder: string | undefined): Promise<Date | null | undefined> {
  if (folder === undefined) return undefined;
  // What was broken off is no backup.
  const names = (await readdir(folder).catch(() => [])).filter((name) => !name.endsWith(partialSuffix));
  const times = await Promise.all(
    names.slice(-backupsMax).map((name) =>
      stat(join(folder, name)).then(
        ({ mtime }) => mtime.getTime(),
        () => 0,
      ),
    ),
  );
  const newest = Math.max(0, ...times);
  return newest === 0 ? null : new Date(newest);
}

async function inspectProcessor({ processors }: Ctx): Promise<ProcessorSetup | { fault: string } | null> {
  const { inspect } = processors.own;
  if (!inspect) return null;
  // The message of the processor may repeat a part of the key.
  return inspect().catch((error: unknown) => ({ fault: describeError(error).replace(/\b[sr]k_\S+/g, "…") }));
}
