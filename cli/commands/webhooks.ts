/** `floe webhooks test`, `doctor`, `enable` and `disable`. */
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { findWorst, formatChecks, rejectFailures } from "../doctor/show.ts";
import { Fault } from "../fault.ts";
import { addExamples } from "../help.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";
import { checkFirst, checkRobustness } from "../webhooks/checks.ts";
import { openProber } from "../webhooks/probe.ts";

const which = "the address of a receiver, or an endpoint's id or name";

/** The address that was named: as such, or by an endpoint. `3000/hooks` is on this machine. */
async function findUrl(context: Context, named: string): Promise<string> {
  if (/^https?:\/\//.test(named)) return named;
  if (/^\d{2,5}(\/|$)/.test(named)) return `http://localhost:${named}`;
  const id = await resolveId(context, "webhooks", named);
  return (await request(context, routes.webhooks.getEndpoint, { params: { id } })).url;
}

export function addTest(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("test")
    .description(
      "Send one signed test event (organization.updated, as it is), and show the answer. Exit code 1 unless it is 2xx.",
    )
    .argument("<url>", which)
    .addHelpText(
      "after",
      "\nExamples:\n  floe webhooks test https://example.com/hooks\n  floe webhooks test 3000/hooks          # a program on this machine, signed as by floe listen",
    );
  command.action(async (named: string) => {
    const context = contextOf(command);
    const url = await findUrl(context, named);
    const { from, first } = await openProber(context, url);
    const succeeded = first.http_code !== null && first.http_code >= 200 && first.http_code < 300;
    const row = { url, sent_by: from, succeeded, ...first };
    if (context.json) showOne(context, row, checkAskedFields(context.globals.json, Object.keys(row)));
    else {
      const paint = context.paint.out();
      const answer = first.http_code === null ? (first.error ?? "") : String(first.http_code);
      const excerpt = first.response ? `\n${paint.dim(removeControls(first.response))}` : "";
      context.print(
        `${succeeded ? paint.good(answer) : paint.bad(answer)} in ${first.duration_ms} ms, sent by ${from === "server" ? "the server" : from}${excerpt}\n`,
      );
    }
    if (!succeeded)
      throw new Fault("error", "the receiver did not accept the test event", {
        hint: `Run: \`floe webhooks doctor ${url}\``,
      });
  });
}

export function addDoctor(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("doctor")
    .description(
      "Check a receiver: TLS, latency, redirects, signatures, replays, repeated and unknown events. It receives about a dozen test events.",
    )
    .argument("<url>", which)
    .addHelpText(
      "after",
      "\nExamples:\n  floe webhooks doctor https://example.com/hooks\n  floe webhooks doctor 3000/hooks --json checks",
    );
  command.action(async (named: string) => {
    const context = contextOf(command);
    const url = await findUrl(context, named);
    const prober = await openProber(context, url);
    const beginning = checkFirst(url, prober.first);
    const isAccepted = beginning.some(({ id, status }) => id === "accepted" && status === "ok");
    const checks = isAccepted ? [...beginning, ...(await checkRobustness(prober, prober.first))] : beginning;
    const row = { status: findWorst(checks), url, sent_by: prober.from, checks };
    if (context.json) showOne(context, row, checkAskedFields(context.globals.json, [...Object.keys(row), "checks.*"]));
    else context.print(formatChecks(context, checks));
    rejectFailures(checks);
  });
}

function addSwitch(group: Command, contextOf: (command: Command) => Context, enabled: boolean): void {
  const command = group
    .command(enabled ? "enable" : "disable")
    .description(enabled ? "Send events to an endpoint again" : "Send no more events to an endpoint")
    .argument("<endpoint>", "its address, id or name");
  addExamples(command, `floe webhooks ${enabled ? "enable" : "disable"} https://example.com/hooks`);
  command.action(async (named: string) => {
    const context = contextOf(command);
    const asked = checkAskedFields(context.globals.json, context.manifest.fields("webhooks", "get"));
    const id = await resolveId(context, "webhooks", named);
    const row = await request(context, routes.webhooks.updateEndpoint, { params: { id }, body: { enabled } });
    if (context.json) {
      showOne(context, row, asked);
      return;
    }
    const step = enabled
      ? "It gets the events of the last 30 days that it missed. Failed ones: `floe webhooks redeliver --failed --since 1d`"
      : "";
    context.say(
      `${context.paint.err().good("✓")} ${enabled ? "Enabled" : "Disabled"} ${removeControls(row.url)}.\n${step && `${step}\n`}`,
    );
  });
}

export const addEnable = (group: Command, contextOf: (command: Command) => Context): void =>
  addSwitch(group, contextOf, true);
export const addDisable = (group: Command, contextOf: (command: Command) => Context): void =>
  addSwitch(group, contextOf, false);
