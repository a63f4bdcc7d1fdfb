/** Every operation of the contract has a command, and the examples of each are run against a server, in a pipe. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildAnswerSchemas } from "../../cli/build-schemas.ts";
import type { CommandDescription } from "../../cli/command-description.ts";
import { handWritten, hasGeneratedCommand, withoutCommand } from "../../cli/command-map.ts";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { editableGroups } from "../../cli/edit/kinds.ts";
import { api } from "../../shared/api/index.ts";
import { describeCatalog } from "../../shared/catalog/schema.ts";
import { isAnsweredByLine } from "../../shared/command-answers/index.ts";
import { scopes } from "../../shared/scopes.ts";
import { writeExampleArchive } from "../support/archives.ts";
import { makeExamplePeople } from "../support/example-people.ts";
import { type ExampleStore, fillExampleStore, writeExampleFiles } from "../support/example-store.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { prepareExampleImport } from "../support/imports.ts";
import { operations } from "../support/operations.ts";
import { floe, folder, manifest, splitWords, standIn } from "./support.ts";

const operator = "it starts or operates a server, on the machine of its operator";
const neverEnds = "it does not end by itself";
const signIn = "it changes the sign-in by which the others are run";
const hosted = "it needs an account at hosted Polar";
const editor = "it opens an editor, which needs a terminal";
const repositories = "it needs a repository; extension-install.test.ts makes some";
const twoProfiles = "it compares two profiles";
/** Commands of which it is only seen that they are there with their flags, and why: their own tests run them. */
const elsewhere: Record<string, string> = {
  "import stripe": "imports-stripe.test.ts",
  ...{
    serve: operator,
    migrate: operator,
    "payments connect": "it needs an account at Stripe",
    try: operator,
    verify: operator,
    "admin status": operator,
    "admin settle-restore": operator,
    "admin money-holds": operator,
    "admin release-money": operator,
  },
  ...{ "admin backup": operator, "admin restore": operator, "admin restore-check": operator },
  ...{ "admin reconcile": operator, "admin replace-secret": operator },
  ...{ "admin queues": operator, "admin dead-letters": operator, "admin retry": operator },
  ...{ "admin mails": operator, "admin endpoints": operator },
  ...{ "audit export": operator, "audit verify": operator, "audit prune": operator },
  ...{ "jobs show": operator, "jobs retry": operator, "jobs discard": operator },
  ...{
    listen: neverEnds,
    "logs tail": neverEnds,
    "events tail": neverEnds,
    "events stream": neverEnds,
    "meters watch": neverEnds,
    mcp: neverEnds,
  },
  top: neverEnds,
  ...{
    login: signIn,
    logout: signIn,
    "profiles use": signIn,
    "profiles remove": signIn,
    "profiles pin": signIn,
    "profiles unpin": signIn,
    "members leave": signIn,
  },
  ...{ "sessions revoke": signIn, "orgs use": signIn },
  ...{
    "extension install": repositories,
    "extension upgrade": repositories,
    "extension remove": repositories,
    "extension create": repositories,
  },
  ...{ promote: twoProfiles, diff: twoProfiles },
  ...{ "polar connect": hosted, "polar status": hosted, "polar sync": hosted },
  "demo seed": "it needs a sandbox in which nothing was sold",
  "webhooks doctor": "it needs a receiver that verifies signatures",
  ...Object.fromEntries(["edit", ...editableGroups.map((group) => `${group} edit`)].map((path) => [path, editor])),
  notices: "it shows files of the build",
};
/** Examples that need what this server does not have. */
const unsupported = / --type (github_repository|discord) /;
/** What has to be so before an example. */
const before: [example: RegExp, line: string][] = [
  [/^floe (discounts create .*LAUNCH20)/, "floe discounts delete LAUNCH20 --yes"],
  [/^floe tax registrations create --country DE --tax-id/, "floe tax registrations delete TAX_REGISTRATION_ID --yes"],
  [/^floe custom-fields create .*vat_note/, "floe custom-fields delete vat_note --yes"],
  [/^floe custom-fields create .*size/, "floe custom-fields delete size --yes"],
  [/^floe customers create .*ada|^floe trigger .*ada/, "floe customers delete ada@example.com --yes"],
  [/^floe usage receipt/, "floe events ingest --from-file events.ndjson"],
  [/^floe apply plan.json/, "floe plan --out plan.json"],
  [/^floe (drift|pull --check)/, "floe apply --yes"],
  [/^floe sandbox (restore|delete|diff) start/, "floe sandbox save start"],
  [/^floe sandbox diff year/, "floe sandbox save year-at-19"],
  [/^floe sandbox diff year/, "floe sandbox save year-at-29"],
];
/** Examples whose exit code says what they found. */
const findings: [example: RegExp, code: number][] = [
  // It is a sandbox, and its server sends no mail.
  [/^floe doctor .*--(go-live|mail)/, 1],
  [/^floe plan --exit-code/, 10],
];
/** Commands that this store can run but once. */
const once = new Set(["orgs create", "customers erase", "alias delete"]);
/** The answer of a command that is not the one of its operation. */
const otherAnswer = / -o /;

const tree = await buildCommandTree(manifest);
const schemas = buildAnswerSchemas(api, manifest);
const ajv = new Ajv2020({ strict: false, validateFormats: false });
const whole = {
  ...manifest,
  read: (name: string): unknown =>
    name === "commands"
      ? tree
      : name === "skill"
        ? { skill: "# Sell\n", agents: "Read SKILL_PATH.\n" }
        : name === "schema-catalog"
          ? describeCatalog()
          : schemas.get(name.replace("schema-", "")),
};
const home = process.cwd();
const place = folder();
const env = { FLOE_CONFIG_DIR: place, FLOE_DEBUG: "1", HOME: place, SHELL: "/bin/bash" };
let server: Floe;
let seller: Seller;
let config: object;
let store: ExampleStore;
let preparePeople: Awaited<ReturnType<typeof makeExamplePeople>>;
/** By command: the operations that its examples called with success. */
const called = new Map<string, Set<string>>();

async function run(line: string) {
  const answer = await floe(splitWords(line).slice(1), { env }, whole);
  if (answer.code !== 0) throw new Error(`${line}\n${answer.out}${answer.err}`);
  return answer;
}

beforeAll(async () => {
  server = await start({ listen: true, realTime: true, worker: true });
  const person = await server.seller("acme");
  const organization = await server
    .client(person.session)
    .organizations.create({ body: { name: "Acme", slug: "acme", sandbox: true } });
  const key = await server.keyOf({ ...person, organization_id: organization.id }, [...scopes]);
  seller = { ...person, organization_id: organization.id, key, client: server.client(key) };
  const { id, slug, name } = organization;
  config = { profile: "default", profiles: { default: { server: server.url, organization: { id, slug, name } } } };
  writeFileSync(join(place, "config.json"), JSON.stringify(config));
  const credentials = { default: { [server.url]: { token: seller.session } } };
  writeFileSync(join(place, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  process.chdir(place);
  const receiver = await standIn(() => ({ json: {} }));
  store = await fillExampleStore(server, seller, place, `${receiver.url}/hooks`, run);
  preparePeople = await makeExamplePeople(server, seller, run);
  await run("floe sandbox save walk");
});
afterAll(async () => {
  process.chdir(home);
  await server?.close();
});

const patterns = operations.map(({ title, op }) => ({
  title,
  method: op.method,
  pattern: new RegExp(`^${op.path.replace(/\/$/, "").replaceAll(/:\w+/g, "[^/]+")}/?$`),
}));
/** The requests that a command made with success, as `--debug` says them. */
const listRequests = (err: string) =>
  [...err.matchAll(/^(GET|POST|PATCH|DELETE) (\S+) → 2\d\d /gm)].map(([, method = "", url = ""]) => ({
    method,
    path: new URL(url).pathname,
  }));

/** An example as it is run: without a comment and a redirection, with --yes and --json. */
function adapt(example: string, { confirms }: CommandDescription, words: Record<string, string>): string {
  const line = example.replace(/\s{2,}#.*$/, "").replace(/\s+>\s*\S+$/, "");
  const yes = confirms && !/ (--yes|--dry-run)\b/.test(line) ? " --yes" : "";
  const json = / (--json|--jq|-q|--format)\b/.test(line) ? "" : " --json";
  return store.substitute(line, words) + yes + json;
}

/** What is wrong with an answer of a command. */
function findFault(line: string, { path }: CommandDescription, out: string): unknown {
  const [group = "", ...words] = path.split(" ");
  const schema = schemas.get(group)?.[words.join(" ")];
  if (!line.endsWith("--json") || !schema || otherAnswer.test(line)) return undefined;
  // Of one event nothing is answered; a page is no JSON; `floe` holds each line against the schema by itself.
  if (out === "" || path === "man" || isAnsweredByLine(path)) return undefined;
  const check = ajv.compile(schema);
  return check(JSON.parse(out)) ? undefined : check.errors;
}

/** Bring about what an example needs; answers what its words stand for. */
async function prepare(example: string, command: CommandDescription): Promise<Record<string, string>> {
  const words = await preparePeople(command.path);
  writeExampleFiles(place);
  if (command.path === "init") rmSync("floe.yaml");
  if (/^(export|restore|archives)\b/.test(command.path))
    await writeExampleArchive(server, seller, place, command.path !== "restore");
  if (/^import\b/.test(command.path))
    return { ...words, ...(await prepareExampleImport(seller, { folder: place, example })) };
  for (const [pattern, line] of before) if (pattern.test(example)) await run(store.substitute(line, words));
  return words;
}

/** The things in an answer; none of what is no JSON document, such as a table of exported rows. */
function listAnswered(json: string): unknown[] {
  try {
    return [JSON.parse(json) as unknown].flat();
  } catch {
    return [];
  }
}

/** What is wrong with the same command under --quiet: it says nothing, and shows ids where the answer has some. */
async function findQuietFault(example: string, command: CommandDescription, json: string) {
  const line = adapt(example, command, await prepare(example, command)).replace(/ --json$/, "");
  const quiet = { ...env, FLOE_DEBUG: undefined };
  const { code, out, err } = await floe([...splitWords(line).slice(1), "--quiet"], { env: quiet }, whole);
  if (code !== 0) return `${line} --quiet\n${code} ${err}`;
  if (err !== "") return `${line} --quiet\nsays: ${err}`;
  const answered = listAnswered(json);
  const isThing = (one: unknown): boolean =>
    typeof one === "object" && one !== null && "id" in one && !("token" in one);
  if (answered.length === 0 || !answered.every(isThing) || / --(dry-run|output)\b| -o /.test(line)) return undefined;
  return /^(\S+\n)+$/.test(out) ? undefined : `${line} --quiet\nshows: ${out.slice(0, 200)}`;
}

/** Put the store back as it was. */
async function restore(): Promise<void> {
  writeFileSync(join(place, "config.json"), JSON.stringify(config));
  await run("floe sandbox restore walk --yes");
  for (const { name } of JSON.parse((await run("floe sandbox list --json name")).out) as { name: string }[])
    if (name !== "walk") await run(`floe sandbox delete ${name} --yes`);
}

async function runExample(example: string, command: CommandDescription): Promise<string | undefined> {
  // What a shell does with commands is no matter of theirs.
  if (/[|&$<]/.test(adapt(example, command, {})) || unsupported.test(example)) return undefined;
  const line = adapt(example, command, await prepare(example, command));
  const isPrepared = before.some(([pattern]) => pattern.test(example));
  const { code, out, err } = await floe(splitWords(line).slice(1), { env }, whole);
  const requests = listRequests(err);
  const titles = requests.flatMap(({ method, path }) =>
    patterns.filter((one) => one.method === method && one.pattern.test(path)).map(({ title }) => title),
  );
  const known = called.get(command.path) ?? new Set();
  for (const title of titles) known.add(title);
  called.set(command.path, known);
  const isChanged = isPrepared || requests.some(({ method }) => method !== "GET");
  if (isChanged) await restore();
  // Once for each command: what follows from an example is the same for all of them.
  if (code === 0 && line.endsWith(" --json") && example === command.examples[0]) {
    const noisy = once.has(command.path) ? undefined : await findQuietFault(example, command, out);
    if (isChanged) await restore();
    if (noisy) return noisy;
  }
  const wanted = findings.find(([pattern]) => pattern.test(example))?.[1] ?? 0;
  const fault = code === wanted ? findFault(line, command, out) : `${code} ${err}`;
  return fault === undefined ? undefined : `${line}\n${typeof fault === "string" ? fault : JSON.stringify(fault)}`;
}

test("every command has an example", () => {
  expect(tree.commands.filter(({ examples }) => examples.length === 0).map(({ path }) => path)).toEqual([]);
  const paths = tree.commands.map(({ path }) => path);
  expect(Object.keys(elsewhere).filter((path) => !paths.includes(path))).toEqual([]);
});

test.each(tree.commands.filter(({ path }) => elsewhere[path] === undefined))(
  "the examples of floe $path work",
  async (command) => {
    const faults: string[] = [];
    for (const example of command.examples) faults.push((await runExample(example, command)) ?? "");
    expect(faults.filter(Boolean)).toEqual([]);
  },
);

test.each(tree.commands.filter(({ path }) => elsewhere[path] !== undefined))(
  "the examples of floe $path have flags that there are",
  async ({ path, examples, flags }) => {
    const known = [...flags, ...tree.global_flags].flatMap(({ name, short }) => [name, short]);
    const named = examples.flatMap((line) =>
      splitWords(line.slice(line.lastIndexOf("floe ")).replace(/\s{2,}#.*$/, "")).filter((word) =>
        /^--?[a-z]/.test(word),
      ),
    );
    expect(
      named.filter((flag) => !known.includes(flag)),
      path,
    ).toEqual([]);
  },
);

test("every operation of the contract is called by an example, or it is said why there is no command", () => {
  const missing = operations.flatMap(({ title, resource, name, op }) => {
    if (withoutCommand[resource] ?? withoutCommand[title]) return [];
    const hand = handWritten[resource]?.[name];
    const made = tree.commands.filter(({ method, endpoint }) => method === op.method && endpoint === op.path);
    const commands = hand ? [hand] : hasGeneratedCommand(resource, name) ? made.map(({ path }) => path) : [];
    return commands.length > 0 && commands.every((path) => called.get(path)?.has(title))
      ? []
      : [`${title}: ${commands}`];
  });
  expect(missing).toEqual([]);
});

test("what is said to have no command is an operation, and no key of a seller could call it or another command does", () => {
  const titles = new Set(operations.flatMap(({ title, resource }) => [title, resource]));
  expect(Object.keys(withoutCommand).filter((name) => !titles.has(name))).toEqual([]);
  const bySellers = operations.filter(
    ({ title, resource, op }) =>
      (withoutCommand[resource] ?? withoutCommand[title]) && op.access.by !== "customer" && op.access.by !== "anyone",
  );
  expect(bySellers.map(({ title }) => title)).toEqual([
    "organizations.list",
    ...["list", "create", "update", "delete"].map((name) => `organizationAccessTokens.${name}`),
    "subscriptions.delete",
  ]);
});
