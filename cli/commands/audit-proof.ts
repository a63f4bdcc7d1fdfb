/**
 * `floe audit export`, `verify` and `prune`: the sealed audit log, on the machine of a server; and with `--remote` that of an
 * organization, over the API.
 */
import { setTimeout as sleep } from "node:timers/promises";
import { type Command, Option } from "commander";
import { findPlace } from "../accounts/account-context.ts";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { parseTime } from "../duration.ts";
import { Fault } from "../fault.ts";
import { checkAskedFields, showList } from "../resource/show.ts";
import { addPlace, type Place, readPlace, runServerWork } from "./admin-place.ts";

type ExportOptions = Place & { organization?: string; since?: Date; follow?: boolean; remote?: true };
type VerifyOptions = Place & { organization?: string; head: string[]; remote?: true };

const followEveryMs = 15_000;

export function addAuditProof(group: Command, contextOf: (command: Command) => Context): void {
  const exported = addPlace(
    group
      .command("export")
      .description(
        "Write the sealed audit log as NDJSON: of a server on its machine, or of your organization with --remote",
      )
      .option("--organization <id>", "only this organization's; `accounts` for what belongs to none")
      .option("--since <time>", "only what was sealed since then: 7d, or a time", parseTime)
      .option("--follow", "go on with what is sealed from now on")
      .addOption(createRemote("since", "follow")),
  );
  exported.addHelpText(
    "after",
    "\nExamples:\n  floe audit export > audit.ndjson\n  floe audit export --since 2026-05-31T00:00:00Z --database-url postgres://…/floe\n  floe audit export --remote > audit.ndjson",
  );
  exported.action((options: ExportOptions) => exportLog(contextOf(exported), options));

  const verify = addPlace(
    group
      .command("verify")
      .argument("[file]", "an export; without it, the log in the database is verified")
      .description("Verify that no entry of the audit log was changed or taken away")
      .option("--organization <id>", "only this organization's, in the database")
      .option("--head <hash...>", "the hash of a last seal of an earlier run, which must still be there", [])
      .addOption(createRemote()),
  );
  verify.addHelpText(
    "after",
    "\nExamples:\n  floe audit verify audit.ndjson\n  floe audit verify --database-url postgres://…/floe --head 6f0c…\n  floe audit verify --remote",
  );
  verify.action((file: string | undefined, options: VerifyOptions) => verifyLog(contextOf(verify), file, options));

  const prune = addPlace(
    group
      .command("prune")
      .description(
        "Remove old entries of the audit log of a server. Their seals stay, so that the rest can be verified",
      )
      .requiredOption("--before <time>", "entries that were sealed before then: 90d, or a time", parseTime)
      .option("--yes", "do not ask"),
  );
  prune.addHelpText("after", "\nExample:\n  floe audit prune --before 2025-01-01T00:00:00Z --yes");
  prune.action((options: Place & { before: Date; yes?: boolean }) => removeOldLog(contextOf(prune), options));
}

/** What is read over the API is of one organization, the one in use. */
const createRemote = (...others: string[]): Option =>
  new Option("--remote", "that of the organization you use, over the API. For its owners").conflicts([
    ...["organization", "dataDir", "databaseUrl"],
    ...others,
  ]);

type SealedLine = { kind: string; number: number };
/** The sealed lines of the organization in use, page by page. */
async function* readRemote(context: Context): AsyncGenerator<SealedLine> {
  const place = await findPlace(context);
  for (let after: number | null = 0; after !== null; ) {
    const query: Record<string, unknown> = { organizationId: place.organizationId, after };
    const page = (await place.get("audit/sealed", query)) as { lines: SealedLine[]; next: number | null };
    yield* page.lines;
    after = page.next;
  }
}

async function exportLog(context: Context, options: ExportOptions): Promise<void> {
  if (options.remote) {
    for await (const line of readRemote(context)) context.print(`${JSON.stringify(line)}\n`);
    return;
  }
  const { organization: chain, follow: isFollowed = false } = options;
  const { signal } = context.io;
  let { since } = options;
  const written = new Set<string>();
  await runServerWork(async (server) => {
    for (;;) {
      const entries: string[] = [];
      await server.exportAudit(
        readPlace(options),
        { chain, since },
        (line) => {
          entries.push(JSON.stringify(line));
          if (line.kind === "entry") return;
          const name = `${line.chain} ${line.number}`;
          const lines = entries.splice(0);
          if (written.has(name)) return;
          if (isFollowed) written.add(name);
          context.print(`${lines.join("\n")}\n`);
          if (isFollowed && (!since || since < new Date(line.sealed_at))) since = new Date(line.sealed_at);
        },
        signal,
      );
      if (!isFollowed) return;
      await sleep(followEveryMs, undefined, { signal });
    }
  }, context.io);
}

const chainFields = ["chain", "first", "last", "entries", "removed", "head"];
const faultFields = ["chain", "number", "entry_id", "fault"];

async function verifyLog(context: Context, file: string | undefined, options: VerifyOptions): Promise<void> {
  const asked = checkAskedFields(context.globals.json, [...chainFields, ...faultFields]);
  if (options.remote && file !== undefined)
    throw new Fault("usage", "a file is verified without the API", { hint: "Leave out --remote." });
  const { chains, faults, faultCount } = await runServerWork((server) =>
    options.remote
      ? server.verifyAuditLines(readRemote(context), options.head)
      : file === undefined
        ? server.verifyAudit(readPlace(options), options.organization, options.head)
        : server.verifyAuditFile(file, options.head),
  );
  if (faultCount > 0) {
    showList(context, faults, faultFields, asked);
    throw new Fault("error", `The audit log is not what was sealed: ${faultCount} faults`, {
      name: "audit_broken",
      hint: "Keep a backup of the database as it is, and compare with an earlier export. docs/operating.md says more.",
    });
  }
  showList(context, chains, chainFields, asked, "Nothing is sealed yet.\n");
  const entries = chains.reduce((sum, one) => sum + one.entries, 0);
  context.say(`${entries} entries of ${chains.length} chains are as they were sealed.\n`);
}

async function removeOldLog(context: Context, options: Place & { before: Date; yes?: boolean }): Promise<void> {
  const { before } = options;
  await confirm(
    context,
    `Remove all entries that were sealed before ${before.toISOString()}? Export them first.`,
    options.yes,
  );
  const count = await runServerWork((server) => server.removeOldAudit(readPlace(options), before), context.io);
  context.say(`${count} entries are removed. Their seals stay.\n`);
}
