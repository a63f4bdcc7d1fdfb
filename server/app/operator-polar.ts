/** What the operator does with the connection to hosted Polar: `floe polar connect`, `status` and `sync`. */
import { resolve } from "node:path";
import { eq, or } from "drizzle-orm";
import { pino } from "pino";
import { describeOutage, PolarConnectionError } from "../hosted/connection/ask.ts";
import { createLinkedOrganization } from "../hosted/connection/create-organization.ts";
import { type Connected, connectEndpoint, getReceiverUrl } from "../hosted/connection/endpoint.ts";
import { type SyncKind, syncKinds } from "../hosted/connection/rules.ts";
import { checkMirror, runSync, type SyncProgress, type SyncResult } from "../hosted/connection/run-sync.ts";
import { type PolarStatus, readPolarStatus } from "../hosted/connection/status.ts";
import { type Hosted, openHosted } from "../hosted/relay/hosted.ts";
import { organization } from "../identity/organizations/tables.ts";
import { ConfigError, completeConfig, readSettings } from "../platform/config.ts";
import type { Deps } from "../platform/context.ts";
import { checkSecret } from "../platform/db/secret-check.ts";
import { redactError } from "../platform/loggable.ts";
import { type Commands, openCall } from "./control.ts";
import { openDeps } from "./deps.ts";
import { findMigrationsFolder } from "./migrations-folder.ts";
import { openOperated } from "./operator.ts";
import type { Serialized } from "./operator-status.ts";

type Given = Record<string, string | undefined>;
type Tell = (progress: SyncProgress) => void;
type Run = { tell: Tell; signal: AbortSignal | undefined };
type Inputs = {
  /**
   * `organization`: the id or the slug of the organization here. `origin`: the public address of this server. `owner`: the e-mail
   * address of the user who owns the organization if it has to be made.
   */
  connect: { organization?: string | undefined; origin?: string | undefined; owner?: string | undefined };
  status: Record<never, never>;
  sync: { kinds?: readonly string[] | undefined; isCheck: boolean };
};
type Results = { connect: Connected; status: Serialized<PolarStatus>; sync: SyncResult };
type Name = keyof Inputs;

/** Link the organization that is named, or use the one that is linked. */
async function requireLinkTo(deps: Deps, hosted: Hosted, named: string | undefined, owner?: string): Promise<void> {
  if (named === undefined) {
    if (hosted.getLink() ?? (await hosted.refreshLink())) return;
    const { token } = hosted.polar.getState();
    if (token !== "accepted") throw describeOutage(hosted, "Whose access token it is, is not known.");
    if (owner !== undefined) return createLinkedOrganization(deps, hosted, owner);
    throw new PolarConnectionError(
      "Which organization here uses POLAR_ACCESS_TOKEN is not known. Link one: floe polar connect --organization ID (see floe orgs list). Or make the one of Polar: floe polar connect --owner EMAIL.",
    );
  }
  const [found] = await deps.db
    .select({ id: organization.id })
    .from(organization)
    .where(or(eq(organization.id, named), eq(organization.slug, named), eq(organization.polar_id, named)));
  if (!found) throw new PolarConnectionError(`There is no organization ${named} on this server.`);
  if (hosted.getLink()?.organization_id === found.id) return;
  if (await hosted.refreshLink(found.id)) return;
  throw new PolarConnectionError(
    `The organization ${named} is linked with another one at Polar, or Polar could not be asked.`,
  );
}

function parseKinds(kinds: readonly string[] | undefined): SyncKind[] | undefined {
  if (kinds === undefined) return undefined;
  const unknown = kinds.find((kind) => !syncKinds.some((known) => known === kind));
  if (unknown !== undefined)
    throw new PolarConnectionError(`There is no kind ${unknown}. The kinds are ${syncKinds.join(", ")}.`);
  return syncKinds.filter((kind) => kinds.includes(kind));
}

const work: { [N in Name]: (deps: Deps, hosted: Hosted, input: Inputs[N], run: Run) => Promise<unknown> } = {
  async connect(deps, hosted, input) {
    const url = getReceiverUrl(deps, input.origin);
    await requireLinkTo(deps, hosted, input.organization, input.owner);
    const connected = await connectEndpoint(deps, hosted, url);
    await hosted.secrets.reload();
    return connected;
  },
  async status(deps, hosted) {
    await requireLinkTo(deps, hosted, undefined);
    return readPolarStatus(deps, hosted);
  },
  async sync(deps, hosted, { kinds, isCheck }, { tell, signal }) {
    const run = { kinds: parseKinds(kinds), report: tell, signal };
    await requireLinkTo(deps, hosted, undefined);
    return isCheck ? checkMirror(deps, hosted, run) : runSync(deps, hosted, run);
  },
};

const names = Object.keys(work) as Name[];
/** What a server tells of a command: how far it is, and at the end the result. */
type Told = { progress: SyncProgress } | { result: unknown };

/** The same by the server that holds a data folder. */
export const listPolarCommands = (deps: Deps, hosted: Hosted | undefined): Commands =>
  Object.fromEntries(
    names.map((name) => [
      `polar-${name}`,
      async ({ input, tell, signal }): Promise<Told> => {
        if (!hosted) throw new ConfigError("This server sells by its own engine: start it with FLOE_BILLING=polar.");
        const run: Run = { tell: (progress) => tell({ progress } satisfies Told), signal };
        return { result: await work[name](deps, hosted, input as never, run) };
      },
    ]),
  );

export type PolarWork<N extends Name> = {
  given: Given;
  input: Inputs[N];
  report?: Tell;
  signal?: AbortSignal | undefined;
};

/** Run it on the database of the settings: by the server that holds the data folder, or beside a server on PostgreSQL. */
export async function runPolarWork<N extends Name>(name: N, asked: PolarWork<N>): Promise<Results[N]> {
  const { given, input, report = () => {}, signal } = asked;
  const settings = readSettings(given);
  const folder = resolve(settings.FLOE_DATA_DIR);
  const call = settings.DATABASE_URL ? undefined : await openCall(folder, `polar-${name}`, input, signal);
  if (!call) return runBeside(name, { given, input, report, signal });
  try {
    for (;;) {
      const told = (await call.read()) as Told;
      if ("result" in told) return told.result as Results[N];
      report(told.progress);
    }
  } finally {
    await call.close();
  }
}

async function runBeside<N extends Name>(
  name: N,
  { given, input, report = () => {}, signal }: PolarWork<N>,
): Promise<Results[N]> {
  if (readSettings(given).FLOE_BILLING !== "polar")
    throw new ConfigError("The settings sell by floe's own engine: set FLOE_BILLING=polar and POLAR_ACCESS_TOKEN.");
  const { settings, readSecret, database, close } = await openOperated(given);
  try {
    await database.migrate(findMigrationsFolder());
    const log = pino({ level: "error", serializers: { err: redactError } }, pino.destination(2));
    const deps = await openDeps(database.db, completeConfig(settings, readSecret()), log);
    await checkSecret(deps);
    const hosted = await openHosted(deps);
    try {
      const result = await work[name](deps, hosted, input, { tell: report, signal });
      return JSON.parse(JSON.stringify(result)) as Results[N];
    } finally {
      hosted.close();
    }
  } finally {
    await close();
  }
}
