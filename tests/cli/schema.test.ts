/** `floe schema`: real answers of commands are what the schemas say. */
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildAnswerSchemas } from "../../cli/build-schemas.ts";
import type { CommandDescription } from "../../cli/command-description.ts";
import { explainMissingSchema, withoutSchema } from "../../cli/command-map.ts";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { run } from "../../cli/program.ts";
import { api } from "../../shared/api/index.ts";
import { describeCatalog } from "../../shared/catalog/schema.ts";
import { commandAnswers } from "../../shared/command-answers/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { closeSchema } from "./answers.ts";
import { manifest, place } from "./support.ts";

const schemas = buildAnswerSchemas(api, manifest);
/** The files that were asked for. */
const asked: string[] = [];
const read = (name: string): unknown => {
  asked.push(name);
  return name === "schema-catalog" ? describeCatalog() : schemas.get(name.replace("schema-", ""));
};
const whole = { ...manifest, read };
let server: Floe;
let seller: Seller;
beforeAll(async () => {
  server = await start({ listen: true });
  seller = await server.seller();
});
afterAll(() => server.close());

async function floe(argv: string[]) {
  const { io, stdout, stderr } = place({ env: { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key } });
  return { code: await run(argv, io, whole, "1.0.0"), out: stdout.text, err: stderr.text };
}
async function findFaults(command: string[], words: string[] = []): Promise<unknown> {
  const { out, err } = await floe([...command, ...words, "--json"]);
  const answer = JSON.parse(out || err);
  const schema = JSON.parse((await floe(["schema", ...command])).out);
  const check = new Ajv2020({ strict: false, validateFormats: false }).compile(schema);
  return check(answer) ? { answer } : check.errors;
}

test.each<[command: string[], words: string[]]>([
  [
    ["products", "create"],
    ["--name", "Pro", "--price", "19.00usd"],
  ],
  [["products", "list"], []],
  [
    ["discounts", "create"],
    ["--name", "Launch", "--percent", "20", "--for", "once"],
  ],
  [["customers", "list"], []],
  [
    ["benefits", "create"],
    ["--type", "custom", "--description", "Thanks", "--note", "Hello"],
  ],
  [
    ["webhooks", "create"],
    ["--url", "https://example.com/hooks", "--events", "order.paid"],
  ],
  [["webhooks", "list"], []],
  [["organization", "get"], []],
  [["orders", "list"], []],
  [
    ["tax", "registrations", "create"],
    ["--country", "DE", "--tax-id", "DE123456788"],
  ],
])("the answer of %j is what its schema says", async (command, words) => {
  expect(await findFaults(command, words)).toEqual({ answer: expect.anything() });
});

test("a schema refuses what is no answer; each command of the contract that answers has one", async () => {
  const { out } = await floe(["schema", "products", "list"]);
  const check = new Ajv2020({ strict: false, validateFormats: false }).compile(JSON.parse(out));
  expect([check([{ id: 1 }]), check({ items: [] }), check([])]).toEqual([false, false, true]);
  const count = [...schemas.values()].reduce((sum, group) => sum + Object.keys(group).length, 0);
  expect(count).toBeGreaterThan(110);
  expect(JSON.parse((await floe(["schema", "floe.yaml"])).out)).toEqual(describeCatalog());
});

test("every command has a schema, or a reason why it answers no JSON of its own", async () => {
  const { commands } = await buildCommandTree(manifest);
  const hasSchema = (path: string): boolean => {
    const [group = "", ...words] = path.split(" ");
    return schemas.get(group)?.[words.join(" ")] !== undefined;
  };
  const operations = Object.values(api).flatMap((resource) => Object.values<Operation>(resource));
  /** What has no body, or is a file, has nothing to describe. */
  const hasAnswer = ({ method, endpoint }: CommandDescription): boolean =>
    !operations.some((op) => op.method === method && op.path === endpoint && (!op.response || op.file));
  const missing = commands.filter(
    (one) => !hasSchema(one.path) && explainMissingSchema(one.path) === undefined && hasAnswer(one),
  );
  expect(missing.map(({ path }) => path)).toEqual([]);
  const paths = commands.map(({ path }) => path);
  expect(Object.keys(withoutSchema).filter((path) => !paths.includes(path) || hasSchema(path))).toEqual([]);
  expect(Object.keys(commandAnswers).filter((path) => !paths.includes(path))).toEqual([]);
});

test("no schema of an answer takes anything", () => {
  const nonsense = [{ nonsense: 1 }, [{ nonsense: 1 }], "nonsense", 1, null, [1]];
  const taken = [...schemas].flatMap(([group, answers]) =>
    Object.entries(answers)
      .filter(([, schema]) => {
        const check = new Ajv2020({ strict: false, validateFormats: false }).compile(closeSchema(schema) as object);
        return nonsense.some((one) => check(one));
      })
      .map(([name]) => `${group} ${name}`.trim()),
  );
  expect(taken).toEqual([]);
});

test("a command without a schema is refused with those that there are", async () => {
  expect(await floe(["schema", "products", "nope"])).toMatchObject({
    code: 6,
    err: expect.stringMatching(/products list/),
  });
  expect(await floe(["schema", "nothing"])).toMatchObject({ code: 6, err: expect.stringMatching(/floe commands/) });
  asked.length = 0;
  for (const word of ["../package", "a/../../package", "Products", "."])
    expect(await floe(["schema", word])).toMatchObject({ code: 6 });
  expect(asked.filter((name) => name.startsWith("schema-"))).toEqual([]);
});

test("each schema names its address on the server, where it is published", async () => {
  const { json } = await server.request("GET", "/schemas/v1/");
  const published = Object.values((json as { schemas: Record<string, string> }).schemas);
  const named = [...schemas.values()].flatMap((group) =>
    Object.values(group).map((schema) => String(schema.published)),
  );
  expect(named.length).toBeGreaterThan(110);
  expect(named.filter((path) => !published.some((address) => new URL(address).pathname === path))).toEqual([]);
});
