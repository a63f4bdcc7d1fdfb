/** `floe commands`: what it says of a command is what the command does. */
import { expect, test } from "vitest";
import { handScopes, ofPeople, withoutScopes } from "../../cli/command-scopes.ts";
import { buildCommandTree } from "../../cli/command-tree.ts";
import { run } from "../../cli/program.ts";
import { readScopes } from "../../server/messaging/streams/rules.ts";
import { scopes } from "../../shared/scopes.ts";
import { manifest, place } from "./support.ts";

const tree = await buildCommandTree(manifest);
const whole = { ...manifest, read: (name: string): unknown => (name === "commands" ? tree : undefined) };
async function floe(argv: string[], tty = false) {
  const { io, stdout, stderr } = place({ tty });
  return { code: await run(argv, io, whole, "1.0.0"), out: stdout.text, err: stderr.text };
}

test("every command of the contract has its request, the scopes that it needs and its exit codes", () => {
  const wrong = tree.commands.filter(
    ({ endpoint, method, scopes: needed = [], exit_codes }) =>
      endpoint !== undefined &&
      (!method || !exit_codes.includes(0) || needed.some((scope) => !(scopes as readonly string[]).includes(scope))),
  );
  const described = tree.commands.filter(({ endpoint }) => endpoint !== undefined);
  expect(described.length).toBeGreaterThan(120);
  expect(wrong).toEqual([]);
  const create = tree.commands.find(({ path }) => path === "products create");
  expect(create).toMatchObject({ method: "POST", endpoint: "/v1/products/", scopes: ["products:write"], writes: true });
  expect(create?.flags.find(({ name }) => name === "--visibility")?.choices).toEqual(["draft", "private", "public"]);
  expect(create?.flags.find(({ name }) => name === "--benefits")).toMatchObject({ type: "list", refers: "benefits" });
  expect(create?.examples.length).toBeGreaterThan(2);
  expect(tree.commands.find(({ path }) => path === "plan")?.exit_codes).toContain(10);
});

test("commands written by hand have the scopes of their requests", () => {
  const find = (wanted: string) => {
    const found = tree.commands.find(({ path }) => path === wanted);
    return [found?.scopes, found?.needs];
  };
  expect(find("orders invoice")).toEqual([["orders:read"], undefined]);
  expect(find("files upload")).toEqual([["files:write"], undefined]);
  expect(find("logs tail")).toEqual([["logs:read"], undefined]);
  expect(find("meters watch")).toEqual([["meters:read"], ["customer_meters:read"]]);
  expect(find("customers import")).toEqual([["customers:write"], ["customers:read"]]);
  expect(find("webhooks test")).toEqual([["webhooks:write"], undefined]);
  expect(find("apply")[0]).toContain("products:write");
  expect(find("plan")[0]).not.toContain("products:write");
  expect(find("listen")).toEqual([["webhooks:read"], undefined]);
  expect(find("profiles list")).toEqual([undefined, undefined]);
});

test("every command that asks the server names scopes, or that a person has to be signed in, or it is said why not", () => {
  const silent = tree.commands.filter(({ path, scopes: needed = [], signed_in }) => {
    const isExcused = [path, path.split(" ")[0] ?? ""].some((name) => Object.hasOwn(withoutScopes, name));
    return needed.length === 0 && signed_in === undefined && !isExcused;
  });
  expect(silent.map(({ path }) => path)).toEqual([]);
  const paths = tree.commands.flatMap(({ path }) => [path, path.split(" ")[0]]);
  const excuses = [...Object.keys(withoutScopes), ...Object.keys(handScopes), ...ofPeople];
  expect(excuses.filter((name) => !paths.includes(name))).toEqual([]);
  const known: ReadonlySet<string> = new Set(scopes);
  const wrong = tree.commands.filter(
    ({ scopes: some = [], needs = [] }) => ![...some, ...needs].every((one) => known.has(one)),
  );
  expect(wrong.map(({ path }) => path)).toEqual([]);
  const find = (wanted: string) => tree.commands.find(({ path }) => path === wanted);
  expect(find("events stream")?.scopes?.toSorted()).toEqual([...readScopes].toSorted());
  expect([find("status")?.scopes, find("products edit")?.scopes]).toEqual([["organizations:read"], ["products:write"]]);
  expect(find("webhooks enable")?.scopes).toEqual(["webhooks:write"]);
});

test("floe commands answers with all of them, with those of some words, and with some fields", async () => {
  const { code, out } = await floe(["commands", "--json"]);
  expect([code, JSON.parse(out)]).toEqual([0, { ...JSON.parse(JSON.stringify(tree)), aliases: [], extensions: [] }]);
  const some = JSON.parse((await floe(["commands", "orders", "list", "--json", "commands.path"])).out);
  expect(some).toEqual({ commands: [{ path: "orders list" }] });
  expect((await floe(["commands", "orders"], true)).out).toMatch(/orders explain/);
  expect((await floe(["commands", "orders", "--agent", "yes"])).out).not.toContain("untrusted");
  expect(await floe(["commands", "nothing"])).toMatchObject({ code: 6, err: expect.stringContaining("floe commands") });
});
