/** `floe admin status` and `floe admin settle-restore`. */
import type { Command } from "commander";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { renderTable } from "../ui/table.ts";
import { addPlace, type OperatorServer, type Place, readPlace, runServerWork } from "./admin-place.ts";

export function addStatus(group: Command, contextOf: (command: Command) => Context): void {
  const status = addPlace(
    group
      .command("status")
      .description(
        "Show what waits and what is left to do: restores, webhooks, failed jobs and mails. It writes nothing",
      ),
  );
  status.addHelpText("after", "\nExamples:\n  floe admin status\n  floe admin status --json outbox,dead_letters");
  status.action((options: Place) => showStatus(contextOf(status), options));

  const settle = addPlace(
    group
      .command("settle-restore")
      .description("Say that what `floe admin reconcile` left was settled by hand, so that it is not shown any more")
      .option("--yes", "do not ask"),
  );
  settle.addHelpText("after", "\nExample:\n  floe admin settle-restore --yes");
  settle.action((options: Place & { yes?: boolean }) => settleRestore(contextOf(settle), options));
}

type Status = Awaited<ReturnType<OperatorServer["readServerStatus"]>>;
type Line = { what: string; state: string; next: string };

const units: [number, string][] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];
/** How long ago something was, in the largest unit that fits. */
function describeAge(now: number, at: string | null): string {
  if (at === null) return "nothing waits";
  const seconds = Math.max(0, Math.round((now - Date.parse(at)) / 1000));
  const [size, unit] = units.find(([length]) => seconds >= length) ?? [1, "s"];
  return `${Math.floor(seconds / size)} ${unit}`;
}

/** One line for each part, and the next step where one is needed. */
function listLines({ restore, left_over, outbox, dead_letters, mails }: Status, now: number): Line[] {
  const left = Object.entries(left_over ?? {}).map(([outcome, count]) => `${count} ${outcome}`);
  return [
    {
      what: "restore",
      state: restore ? "in maintenance" : left.length > 0 ? `left: ${left.join(", ")}` : "nothing to settle",
      next: restore ? "floe admin reconcile --since TIME" : left.length > 0 ? "floe admin settle-restore" : "",
    },
    { what: "events to dispatch", state: describeAge(now, outbox.undispatched_at), next: "" },
    { what: "webhooks to deliver", state: describeAge(now, outbox.undelivered_at), next: "" },
    {
      what: "dead letters",
      state: dead_letters.count === 0 ? "none" : `${dead_letters.count}: ${dead_letters.kinds.join(", ")}`,
      next: dead_letters.count === 0 ? "" : "floe admin dead-letters",
    },
    {
      what: "mails to send",
      state: mails.waiting === 0 ? "nothing waits" : `${mails.waiting}, for ${describeAge(now, mails.oldest_at)}`,
      next: mails.waiting === 0 ? "" : "floe doctor --mail",
    },
    {
      what: "mails refused",
      state: mails.refused.length === 0 ? "none" : String(mails.refused.length),
      next: mails.refused.length === 0 ? "" : "floe admin mails",
    },
  ];
}

const fields = ["restore", "left_over", "outbox", "endpoints", "dead_letters", "mails"];

async function showStatus(context: Context, options: Place): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  const status = await runServerWork((server) => server.readServerStatus(readPlace(options)));
  if (context.json) return showOne(context, status, asked);
  const now = context.now();
  const show = (rows: unknown[], columns: string[]): string =>
    renderTable(rows, columns, context.paint.out(), context.io.stdout.columns ?? 80, now);
  const { endpoints, mails } = status;
  const waiting = endpoints.map((one) => ({
    ...one,
    state: one.enabled ? "on" : "off",
    oldest: describeAge(now, one.oldest_at),
  }));
  const parts = [
    show(listLines(status, now), ["what", "state", "next"]),
    ...(waiting.length > 0 ? [show(waiting, ["url", "state", "waiting", "oldest", "organization_id"])] : []),
    ...(mails.refused.length > 0 ? [show(mails.refused, ["to", "created_at:date", "refusal"])] : []),
  ];
  context.page(parts.join("\n"));
}

async function settleRestore(context: Context, options: Place & { yes?: boolean }): Promise<void> {
  await confirm(context, "Is everything settled that the last `floe admin reconcile` left?", options.yes);
  await runServerWork((server) => server.settleLeftOver(readPlace(options)));
  context.say("Nothing of a restore is left.\n");
}
