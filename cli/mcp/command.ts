/** `floe mcp`: a language model works with the store, by the Model Context Protocol over standard input and output. */
import { PassThrough, Writable } from "node:stream";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { type Command, Option } from "commander";
import type { Context } from "../context.ts";
import { makeContext } from "../make-context.ts";
import type { Mode } from "./call.ts";
import { createMcpServer } from "./server.ts";

const help = `
Modes:
  read-only  tools that change nothing (as by default)
  sandbox    all tools, in an organization that is a sandbox
  confirm    all tools; you are asked before each change

Examples:
  floe mcp
  floe mcp --mode sandbox --profile sandbox
  floe mcp --mode confirm --tools products,orders,customers`;

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const command = root
    .command("mcp")
    .description(
      "Let a language model work with the store: a Model Context Protocol server on standard input and output",
    )
    .addOption(new Option("--mode <mode>", "what it may do").choices(["read-only", "sandbox", "confirm"]))
    .option("--tools <groups>", "only tools of these commands: products,orders");
  command.addHelpText("after", help);
  command.action((options: { mode?: Mode; tools?: string }) => serveTools(contextOf(command), options));
}

/** Serve one client, until it leaves or the process is told to end. */
async function serveTools(context: Context, options: { mode?: Mode; tools?: string }): Promise<void> {
  const { io, manifest, version, globals } = context;
  const { mode = "read-only", tools } = options;
  // What is wrong with the settings is said at once, and not by the first tool.
  context.settings();
  const server = createMcpServer(manifest, version, {
    mode,
    groups: tools?.split(",").filter(Boolean),
    makeContext: () => makeContext(io, manifest, version, globals),
  });
  const output = new Writable({
    write: (part: Buffer, _, done) => {
      io.stdout.write(part.toString("utf8"));
      done();
    },
  });
  const ended = new Promise<void>((resolve) => {
    server.onclose = resolve;
    io.stdin.once("end", resolve);
    io.signal.addEventListener("abort", () => resolve(), { once: true });
  });
  await server.connect(new StdioServerTransport(io.stdin.pipe(new PassThrough()), output));
  if (io.stdin.isTTY) context.say(`floe mcp waits for a client on standard input (${mode}). Ctrl-C ends it.\n`);
  await ended;
  await server.close();
}
