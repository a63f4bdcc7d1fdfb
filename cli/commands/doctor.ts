/** `floe doctor` and `floe status`: whether the store, its server and this machine are set up so that sales work. */
import type { Command } from "commander";
import type { Check } from "../../shared/api/diagnostics.ts";
import type { Context } from "../context.ts";
import {
  buildCheck,
  checkCertificate,
  checkReachable,
  compareWithServer,
  fetchReport,
  type Report,
} from "../doctor/checks.ts";
import { findWorst, formatCheck, formatChecks, formatSum, rejectFailures } from "../doctor/show.ts";
import { Fault, isFault } from "../fault.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { removeControls } from "../ui/theme.ts";

type Options = { goLive?: boolean; mail?: boolean };
type Result = { report: Report | undefined; checks: Check[]; unreachable: Fault | undefined };

export function addDoctor(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("doctor")
    .description(
      "Check the store, its server and this machine, and say what mends each fault. Exit code 1 on a failure.",
    )
    .option("--go-live", "check for the sale of real goods for real money")
    .option("--mail", "send a test message to your own address")
    .addHelpText(
      "after",
      "\nExamples:\n  floe doctor\n  floe doctor --go-live          # before the first real sale\n  floe doctor --mail\n  floe doctor --json -q '.checks[] | select(.status == \"failure\")'",
    );
  command.action(async (options: Options) => {
    const context = contextOf(command);
    finish(context, await inspect(context, options), formatAll);
  });
}

export function addStatus(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("status")
    .description("Say in a few lines which store and server you use, and what is wrong. Exit code 1 on a failure.");
  command.addHelpText("after", "\nExamples:\n  floe status\n  floe status --json -q .status");
  command.action(async () => {
    const context = contextOf(command);
    finish(context, await inspect(context, {}), formatFaults);
  });
}

async function inspect(context: Context, { goLive = false, mail = false }: Options): Promise<Result> {
  const { server } = context.settings();
  let reachable: Check;
  try {
    reachable = await checkReachable(context);
  } catch (error) {
    if (!isFault(error) || error.kind === "interrupted" || error.kind === "terminated") throw error;
    const hint = error.parts.hint ?? null;
    const check = buildCheck("server", "failure", `${server} does not answer: ${error.message}.`, hint);
    return { report: undefined, checks: [check], unreachable: error };
  }
  const certificate = await checkCertificate(context);
  const fetched = await fetchReport(context, goLive);
  const checks = [reachable, certificate];
  if ("refusal" in fetched) return { report: undefined, checks: [...checks, fetched.refusal], unreachable: undefined };
  const { report, skewMs } = fetched;
  checks.push(...compareWithServer(context, report, skewMs), ...report.checks);
  if (mail) checks.push(await sendTestMail(context));
  return { report, checks, unreachable: undefined };
}

type TestMail = { to: string; sent: boolean; error: string | null; duration_ms: number };

async function sendTestMail(context: Context): Promise<Check> {
  try {
    const answer = (await context.call({
      method: "POST",
      path: "/v1/diagnostics/mail",
      organization: false,
    })) as TestMail;
    if (answer.sent)
      return buildCheck("test_mail", "ok", `Sent to ${answer.to} in ${answer.duration_ms} ms. Check that it arrived.`);
    return buildCheck("test_mail", "failure", `Not sent: ${answer.error}`, "Check SMTP_URL and MAIL_FROM.");
  } catch (error) {
    if (!isFault(error) || error.kind === "interrupted" || error.kind === "terminated") throw error;
    return buildCheck("test_mail", "failure", `Not sent: ${error.message}`, error.parts.hint ?? null);
  }
}

function finish(context: Context, result: Result, format: (context: Context, result: Result) => string): void {
  const { checks, report, unreachable } = result;
  if (context.json) {
    const { server } = context.settings();
    const { organization_id = null, sandbox = null, version = null } = report ?? {};
    const row = { status: findWorst(checks), server, version, organization_id, sandbox, checks };
    showOne(context, row, checkAskedFields(context.globals.json, [...Object.keys(row), "checks.*"]));
  } else context.print(format(context, result));
  if (unreachable) throw new Fault(unreachable.kind, unreachable.message, { ...unreachable.parts });
  rejectFailures(checks);
}

const formatAll = (context: Context, { checks }: Result): string => formatChecks(context, checks);

function formatFaults(context: Context, { checks, report }: Result): string {
  const { server, organization } = context.settings();
  const mode = report ? (report.sandbox ? "a sandbox" : "real money") : "unknown";
  const store = organization ? `${organization.name} (${organization.slug})` : (report?.organization_id ?? "none");
  const head = `Server  ${server}${report ? `, version ${report.version}` : ""}\nStore   ${removeControls(store)}, ${mode}\n\n`;
  const faults = checks.filter(({ status }) => status === "failure" || status === "warning");
  const lines = faults.map((check) => formatCheck(context, check)).join("");
  return `${head}${lines}${formatSum(checks)}\n`;
}
