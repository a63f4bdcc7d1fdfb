/** `floe payments connect`: the endpoint at Stripe that sends its events to a server. For the server's operator. */
import type { Command } from "commander";
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { checkAskedFields, showOne } from "../resource/show.ts";
import { runServerWork } from "./admin-place.ts";

type Options = { url?: string; replace?: boolean; yes?: boolean };

export function addConnect(group: Command, contextOf: (command: Command) => Context): void {
  const command = group
    .command("connect")
    .description(
      "Make the webhook endpoint at Stripe, with the server's STRIPE_SECRET_KEY. Repeated, it repairs what differs. The signing secret goes to stdout",
    )
    .option("--url <address>", "the public address of the server, instead of FLOE_URL")
    .option("--replace", "make a new endpoint with a new signing secret, and delete the present one")
    .option("--yes", "do not ask");
  command.addHelpText(
    "after",
    "\nExamples:\n  floe payments connect --url https://shop.example.com\n  floe payments connect --json outcome,duplicates\n  export STRIPE_WEBHOOK_SECRET=$(floe payments connect --replace --yes --jq .secret)",
  );
  command.action((options: Options) => connect(contextOf(command), options));
}

const fields = ["id", "url", "mode", "outcome", "secret", "duplicates"];
const outcomes = {
  created: "was made at Stripe",
  repaired: "was repaired at Stripe",
  unchanged: "is as it should be",
} as const;

async function connect(context: Context, { url, replace = false, yes }: Options): Promise<void> {
  const asked = checkAskedFields(context.globals.json, fields);
  if (replace)
    await confirm(
      context,
      "Until the servers run with the new signing secret, they refuse the events of Stripe, which sends them again later. Go on?",
      yes,
    );
  const endpoint = await runServerWork((server) =>
    server.connectPayments({ given: {}, origin: url, isReplaced: replace }),
  );
  if (context.json) return showOne(context, endpoint, asked);
  const { outcome, secret, duplicates } = endpoint;
  context.say(`The ${endpoint.mode} endpoint ${endpoint.url} ${outcomes[outcome]}.\n`);
  if (secret === null)
    context.say(
      "Stripe tells its signing secret only once. If STRIPE_WEBHOOK_SECRET is lost: floe payments connect --replace\n",
    );
  else {
    context.print(`STRIPE_WEBHOOK_SECRET=${secret}\n`);
    context.say("Set it for the server, and restart it. Then check: `floe doctor`\n");
  }
  if (duplicates.length > 0)
    context.say(
      `${duplicates.length} more endpoints have this address, so each event comes more than once. Delete them in Stripe's dashboard: ${duplicates.join(", ")}\n`,
    );
}
