/** `floe orders invoice|receipt` and `floe refunds credit-note`: have a document made, wait for it, and save it. */
import type { Command } from "commander";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { open } from "../http.ts";
import { pause } from "../pause.ts";
import { request } from "../request.ts";
import { resolveId } from "../resource/names.ts";
import { saveWhole } from "../save.ts";

type Add = (group: Command, contextOf: (command: Command) => Context) => void;
type Call<T> = (context: Context, params: { id: string }) => Promise<T>;
/** `generate` is absent where a document is made by itself. */
type Kind = { name: string; noun: string; of: string; find: Call<{ url: string } | null>; generate?: Call<unknown> };

const againMs = 400;
/** Printing takes a moment; a queue of a thousand takes minutes. */
const waitMaxMs = 5 * 60_000;

const addCommand =
  (kind: Kind): Add =>
  (group, contextOf) => {
    const made = group
      .command(kind.name)
      .description(`Save the ${kind.noun} as PDF`)
      .argument("<id>", kind.of === "order" ? "its id, or its invoice number" : `id of the ${kind.of}`)
      .option("-o, --output <file>", "where to; - is the standard output (the document's number)");
    made.addHelpText(
      "after",
      `\nExamples:\n  floe ${kind.of}s ${kind.name} ${kind.of.toUpperCase()}_ID -o ${kind.name}.pdf`,
    );
    made.action((id: string, options: { output?: string }) => save(contextOf(made), kind, id, options.output));
  };

export const addInvoice = addCommand({
  name: "invoice",
  noun: "invoice of an order",
  of: "order",
  find: (context, params) => request(context, routes.invoices.get, { params }),
  generate: (context, params) => request(context, routes.invoices.generate, { params }),
});
export const addReceipt = addCommand({
  name: "receipt",
  noun: "receipt of an order",
  of: "order",
  find: (context, params) => request(context, routes.invoices.receipt, { params }),
});
export const addCreditNote = addCommand({
  name: "credit-note",
  noun: "credit note of a refund",
  of: "refund",
  find: (context, params) => request(context, routes.invoices.creditNote, { params }),
  generate: (context, params) => request(context, routes.invoices.generateCreditNote, { params }),
});

async function save(context: Context, kind: Kind, named: string, output: string | undefined): Promise<void> {
  const id = kind.of === "order" ? await resolveId(context, "orders", named) : named;
  const params = { id };
  if (kind.generate) await kind.generate(context, params);
  const until = Date.now() + waitMaxMs;
  for (let url = await find(); ; url = await find()) {
    if (url !== undefined) return fetchTo(context, url, output);
    if (Date.now() > until)
      throw new Fault("unreachable", `the ${kind.noun} is not ready yet`, { hint: "Try again in a while." });
    await pause(againMs, context.io.signal);
    if (context.io.signal.aborted) throw new Fault("interrupted", "stopped");
  }

  /** The address, once there is one. What was asked for and is not there yet is a 404 until then. */
  async function find(): Promise<string | undefined> {
    try {
      return (await kind.find(context, params))?.url;
    } catch (error) {
      if (kind.generate && error instanceof Fault && error.parts.status === 404) return undefined;
      throw error;
    }
  }
}

/** Save what is at an address that is its own permission: whole or not at all. */
async function fetchTo(context: Context, address: string, output: string | undefined): Promise<void> {
  const response = await openAt(context, address);
  if (output === "-") {
    for await (const part of response) context.io.stdout.write(part as Buffer);
    return;
  }
  const [, named = "document.pdf"] = /filename="([\w.-]+)"/.exec(response.headers["content-disposition"] ?? "") ?? [];
  const path = output ?? named;
  await saveWhole(path, response);
  context.say(`Saved ${path}\n`);
}

/** The bytes at an address of a document. */
export async function openAt(context: Context, address: string) {
  const { response } = await open({
    method: "GET",
    url: new URL(address),
    headers: { "user-agent": `floe-cli/${context.version} (${process.platform})` },
    timeoutMs: context.settings().timeoutMs,
    env: context.io.env,
    signal: context.io.signal,
  });
  if (response.statusCode !== 200) {
    response.resume();
    throw new Fault("error", `the file store answered ${response.statusCode}`, { hint: "Try again." });
  }
  return response;
}
