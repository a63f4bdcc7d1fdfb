/** README and the documents, typed as they say: every line of every shell block, top to bottom, by a seller who has signed in. */
import { execFile } from "node:child_process";
import { chmodSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bundleCli } from "../../cli/bundle.ts";
import { writeManifest } from "../../cli/write-manifest.ts";
import { api } from "../../shared/api/index.ts";
import { eventually } from "../support/eventually.ts";
import { type Floe, start } from "../support/floe.ts";
import { floe, folder, splitWords } from "./support.ts";

const lineMsMax = 30_000;

/** What stands in a document for something of one's own, and the command that finds it. */
type Values = Record<string, string>;
type Manual = {
  /** What the document takes for granted. */
  before?: string[];
  /** What happens meanwhile, after a line that begins so: a sale, or what a buyer does. */
  after?: Record<string, string[]>;
  values?: Values;
  /** Lines that are only held to be a command with flags that there are, and why. */
  checked?: [line: RegExp, why: string];
};
const order = 'orders list -q ".[0].id"';
const sub = 'subscriptions list -q ".[0].id"';
const manuals: Record<string, Manual> = {
  "README.md": {
    after: {
      "floe listen": ['sandbox buy "Night Sky Sounds" --as ada@example.com'],
      // The seeded shop has it.
      "floe demo seed": ['products create --name "Night Sky Sounds" --price 19.00'],
    },
    values: {
      "floe_oat_…": "api-keys create --name again --scopes products:read -q .key",
      "https://pay.example.com(?= floe)": "text SERVER",
    },
    checked: [
      /^npm |--package=|floe login|^node -e|floe listen|demo seed/,
      "npm, a browser, no end, or a minute: tests/deploy/package, scenarios/launchers, cli/{sign-in,listen,demo}",
    ],
  },
  "docs/benefits.md": {
    after: {
      "floe products update Pro": ["sandbox buy Pro --as ada@example.com", 'until license-keys list -q ".[0].key"'],
    },
    values: {
      KEY_ID: 'license-keys list -q ".[0].id"',
      "(?<![$'\"])KEY\\b(?!=)": 'license-keys list -q ".[0].key"',
    },
    checked: [/retry GRANT_ID|grant-runs (stop|resume) RUN/, "nothing has failed, and no run is under way: tests/api"],
  },
  "docs/checkout-links.md": { before: ["products create --name Guide --price 9.00"] },
  "docs/checkout.md": { values: { "\\bID\\b": 'organization get -q ".id"' } },
  "docs/ci.md": { checked: [/^curl|FLOE_ID_TOKEN/, "a token of a pipeline: tests/cli/ci"] },
  "docs/home.md": {},
  "docs/invoices.md": {
    before: [
      "products create --name Guide --price 19.00",
      "sandbox buy Guide --as ada@example.com",
      "refunds create --order-id ORDER_ID --amount 5.00 --reason customer_request",
    ],
    values: {
      ORDER_ID: order,
      REFUND_ID: 'refunds list -q ".[0].id"',
    },
    checked: [/logo_url=/, "a logo is a picture that was uploaded: tests/api/branding"],
  },
  "docs/metrics.md": {
    before: ["products create --name Pro --price 19.00/month"],
    checked: [/--open|--watch/, "a browser, or no end: tests/cli/metrics"],
  },
  "docs/portal.md": {
    before: [
      "customers create --email ada@example.com",
      "products create --name Basic --price 9.00/month",
      "products create --name Pro --price 19.00/month",
    ],
    values: { BASIC: 'products list -q ".[0].id"', PRO: 'products list -q ".[1].id"' },
    checked: [
      /--open|^curl|cancellations settle|floe seats (assign|list|resend|revoke)|MEMBER|api-call/,
      "a browser, a code of a mail, or seats that were bought: tests/{cli/people-names,api/seats}",
    ],
  },
  "docs/privacy.md": {
    before: ["customers create --email ada@example.com"],
    checked: [/…/, "an id that the line before prints: tests/api/privacy"],
  },
  "docs/sandbox.md": {
    checked: [
      /demo seed|sandbox (clock|save|restore|diff|delete|list)/,
      "a minute, or the time of this server: tests/cli/{demo,sandbox}",
    ],
  },
  "docs/subscriptions.md": {
    before: [
      "products create --name News --price 0.00/month",
      "products create --name Pro --price 19.00/month",
      "customers create --email ada@example.com",
    ],
    values: { "\\bID\\b": sub },
    checked: [
      /--seats|--discount-id|CARD_ID|products migrate|--product-id Pro|uncancel|revoke|pause|resume|forecast|--trial-end/,
      "a card, seats or a paid period: tests/{api,scenarios}",
    ],
  },
  "docs/usage.md": {
    values: { "http://localhost:4455": "text SERVER" },
    before: [
      "customers create --email ada@example.com --external-id user-1",
      "meters create --name Tokens --filter 'name eq \"completion\"' --aggregation 'sum tokens'",
    ],
    checked: [
      /events tail|meters (watch|create)|customers create|ORDER_ID|^floe (benefits|products|checkouts) create|^floe usage|advance|\*\.ndjson/,
      "no end, or the tour: tests/scenarios/tour-usage",
    ],
  },
};
/** Documents whose blocks other tests run, and what cannot be run on this machine. */
const elsewhere: Record<string, string> = {
  "docs/accounts.md": "tests/cli/docs.long",
  "docs/catalogue.md": "tests/cli/docs.long",
  "docs/cli.md": "tests/cli/docs.long",
  "docs/money.md": "tests/cli/tax",
  "docs/realtime.md": "tests/conformance/event-streams.long",
  "docs/operating.md": "tests/scenarios/{verify,restore,drills.long}",
  "docs/moving.md": "tests/cli/archives",
  "docs/payments.md": "an account at Stripe: tests/cli/payments-connect",
  "docs/hosted-polar.md": "an account at Polar: tests/hosted",
  "docs/deploying.md": "root, a supervisor, Docker: tests/deploy, scenarios/proxies.long",
  "docs/hosting.md": "accounts at hosts: tests/rules/hosting",
};

/** The commands of a document: a line ends where its quotes do, and not at a backslash. Comments go. */
function listCommands(page: string): string[] {
  const blocks = [...readFileSync(page, "utf8").matchAll(/^ *```(?:sh|bash)\n([\s\S]*?)^ *```$/gm)];
  return blocks.flatMap(([, body = ""]) => {
    const commands: string[] = [];
    let open = "";
    for (const line of body.split("\n")) {
      open += open === "" ? line.trim() : `\n${line}`;
      const isOpen = open.endsWith("\\") || (open.split("'").length % 2 === 0 && !/^[^']*#/.test(open));
      if (isOpen) continue;
      const command = open
        .replaceAll(/\\\n\s*/g, "")
        .replace(/(^|\s+)# .*$/, "")
        .trim();
      if (command !== "") commands.push(command.replaceAll(/\bnpx floe\b/g, "floe"));
      open = "";
    }
    return commands;
  });
}

let server: Floe;
let bin: string;
beforeAll(async () => {
  server = await start({ listen: true, realTime: true, worker: true });
  bin = folder();
  await Promise.all([bundleCli(process.cwd(), bin, "1.0.0"), writeManifest(join(bin, "manifest"), api)]);
  writeFileSync(join(bin, "package.json"), '{"type":"module"}');
  writeFileSync(join(bin, "floe"), `#!/bin/sh\nexec "${process.execPath}" "${join(bin, "cli.cjs")}" "$@"\n`);
  // An answer that refuses is no success.
  writeFileSync(join(bin, "curl"), '#!/bin/sh\nexec /usr/bin/curl --silent --fail-with-body "$@"\n');
  for (const name of ["floe", "curl"]) chmodSync(join(bin, name), 0o755);
  symlinkSync(join(process.cwd(), "node_modules"), join(bin, "node_modules"));
});
afterAll(() => server?.close());

/** A terminal in a folder of its own, signed in, with a sandbox of its own. */
async function openTerminal() {
  const seller = await server.seller();
  const place = folder();
  const env = { FLOE_CONFIG_DIR: place, HOME: place, SHELL: "/bin/bash", FLOE_SERVER: server.url };
  for (const name of ["book.pdf", "logo.png"]) writeFileSync(join(place, name), name);
  const events = [1, 2].map((tokens) =>
    JSON.stringify({ name: "completion", external_customer_id: "user-1", metadata: { tokens } }),
  );
  writeFileSync(join(place, "events.ndjson"), `${events.join("\n")}\n`);
  writeFileSync(
    join(place, "config.json"),
    JSON.stringify({ profile: "default", profiles: { default: { server: server.url } } }),
  );
  const credentials = { default: { [server.url]: { token: seller.session } } };
  writeFileSync(join(place, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  const typeShell = (line: string) =>
    promisify(execFile)("sh", ["-e", "-c", line], {
      cwd: place,
      timeout: 120_000,
      env: { PATH: `${bin}:${process.env.PATH}`, ...env, FLOE_API_KEY: /^curl /.test(line) ? seller.key : "" },
    }).then(
      ({ stdout }) => ({ code: 0, out: stdout, err: "" }),
      ({ code, stderr, stdout }: { code: number; stderr: string; stdout: string }) => ({
        code,
        out: stdout,
        err: stderr,
      }),
    );
  /** What reads or writes a file, or has more than one program in it, is typed in a shell; the rest runs here, which is faster. */
  const type = (line: string) =>
    /^floe /.test(line) && !/[|>;&]|\$\(| (-o|--out|--from-file|upload|pull|plan|apply) ?/.test(line)
      ? floe(splitWords(line.slice("floe ".length)), { env })
      : typeShell(line);
  await type("floe orgs create Manual --sandbox");
  return { type, typeShell };
}

/** Whether a line is a command with flags that there are. */
async function isCommand(line: string): Promise<boolean> {
  const found = /\bfloe ([a-z][^|>;]*)/.exec(line)?.[1];
  if (found === undefined) return true;
  const words = splitWords(found.trim());
  const flags = words.filter((word) => word.startsWith("--")).map((word) => word.split("=")[0] ?? "");
  const called = words.filter((_, index) => !words.slice(0, index + 1).some((word) => word.startsWith("-")));
  const { out, code } = await floe([...called, "--help"]);
  // What a group does without a word more is one of its commands.
  const known = [
    out,
    ...(await Promise.all([[...called, "show"], []].map((more) => floe([...more, "--help"])))).map((one) => one.out),
  ].join();
  return code === 0 && flags.every((flag) => known.includes(flag));
}

test.each(Object.keys(manuals))("every line of %s does what it says, top to bottom", async (page) => {
  const { before = [], after = {}, values = {}, checked } = manuals[page] ?? {};
  const { type } = await openTerminal();
  const failed: string[] = [];
  const fillIn = async (line: string): Promise<string> => {
    let text = line;
    for (const [pattern, command] of Object.entries(values)) {
      if (!new RegExp(pattern).test(text)) continue;
      const { out } = command.startsWith("text ")
        ? { out: command.slice(5).replace("SERVER", server.url) }
        : await type(`floe ${command}`);
      text = text.replaceAll(new RegExp(pattern, "g"), out.trim().replaceAll('"', ""));
    }
    return text;
  };
  let variables = "";
  /** A line of what happens meanwhile; one with `until` is what a worker makes, and a person would see a moment later. */
  const happen = async (line: string) => {
    const asked = /^until (.*)/.exec(line)?.[1];
    if (asked === undefined) return perform(`floe ${line}`);
    const look = async () => !["", "null"].includes((await type(`floe ${asked}`)).out.trim()) || undefined;
    await eventually(look, asked);
  };
  const perform = async (line: string) => {
    if (/^[A-Z]+=\$\(/.test(line)) variables += `${line}; `;
    const typed = await fillIn(/^curl /.test(line) ? variables + line : line);
    // A person answers the question of a line on the terminal.
    const answer = async () => {
      const said = await type(typed);
      return said.code === 64 && said.err.includes("Give --yes") ? type(`${typed} --yes`) : said;
    };
    const endless = { code: -1, out: "", err: "It has no end." };
    const { code, out, err } = await Promise.race([answer(), sleep(lineMsMax, endless)]);
    if (code !== 0) failed.push(`${line}\n${out}${err}`);
  };
  for (const line of before) await happen(line);
  const lines = listCommands(page);
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) {
    if (checked?.[0].test(line)) {
      if (!(await isCommand(line))) failed.push(`${line}\nis no command`);
    } else await perform(line);
    for (const [begin, more] of Object.entries(after))
      if (line.startsWith(begin)) for (const one of more) await happen(one);
  }
  expect(failed).toEqual([]);
});

test("each document with a shell block is typed here, or run by the tests that are named", () => {
  const documents = ["README.md", ...readdirSync("docs").map((name) => `docs/${name}`)].filter((name) =>
    name.endsWith(".md"),
  );
  const withBlocks = documents.filter((page) => /^ *```(sh|bash)$/m.test(readFileSync(page, "utf8")));
  expect([...Object.keys(manuals), ...Object.keys(elsewhere)].sort()).toEqual(withBlocks.sort());
});
