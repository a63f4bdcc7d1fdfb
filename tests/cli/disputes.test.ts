import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { disputeOrder, rowOf, sellOrder } from "../support/rows.ts";
import { begin, floe as run, until } from "./support.ts";

/** Disputes, and the page of a checkout, from the terminal at a server. */

let floe: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
});
afterAll(() => floe.close());

test("floe disputes lists and shows in 80 columns, and JSON in a pipe", async () => {
  const id = await disputeOrder(floe, seller, await sellOrder(floe, seller));
  const listed = await run(["disputes", "list", "--status", "needs_response"], { env, tty: true, columns: 80 });
  expect(listed.code).toBe(0);
  for (const word of ["$19.00", "needs_response", id]) expect(listed.out).toContain(word);
  for (const line of listed.out.split("\n")) expect([...line].length).toBeLessThanOrEqual(80);
  const piped = await run(["disputes", "list"], { env });
  expect(JSON.parse(piped.out)).toMatchObject([{ id, status: "needs_response", amount: 1900 }]);
  const one = await run(["disputes", "get", id], { env, tty: true, columns: 80 });
  expect([one.code, one.out.includes("needs_response")]).toEqual([0, true]);
  expect((await run(["disputes", "list", "--status", "gone"], { env })).code).toBe(64);
});

test("floe disputes accept asks first, does nothing at a no, and tells that it is over", async () => {
  const id = await disputeOrder(floe, seller, await sellOrder(floe, seller));
  const standing = async () => (await seller.client.disputes.get({ params: { id } })).status;
  const asked = async (answer: string) => {
    const here = begin(["disputes", "accept", id], { env, tty: true });
    await until(() => here.stderr.text.includes("[y/N]"));
    here.stdin.write(answer);
    return { code: await here.ended, out: here.stdout.text, err: here.stderr.text };
  };
  const no = await asked("n\n");
  expect(no.err).toContain("Accept this dispute? It is lost at once");
  expect([no.code === 0, await standing()]).toEqual([false, "needs_response"]);
  expect([(await run(["disputes", "accept", id], { env })).code, await standing()]).toEqual([64, "needs_response"]);
  expect([(await asked("y\n")).code, await standing()]).toEqual([0, "lost"]);
  const again = await run(["disputes", "accept", id, "--yes"], { env });
  expect([again.code === 0, again.err.includes("not open")]).toEqual([false, true]);
  const unknown = await run(["disputes", "get", "0199c1f0-0000-7000-8000-000000000001"], { env });
  expect([unknown.code, unknown.err]).toEqual([6, expect.stringContaining("there is no dispute")]);
});

test("floe checkouts create --open opens the page, and says its address whole; in a pipe it is JSON", async () => {
  const { id = "" } = (await rowOf.products(floe, seller)).params;
  const argv = ["checkouts", "create", "--products", id, "--open"];
  const seen = await run(argv, { env, tty: true, columns: 80 });
  const [url = ""] = seen.opened;
  expect(url).toContain(`${floe.url}/checkout/polar_c_`);
  expect([seen.code, seen.out.replace(/\s/g, "").includes(url)]).toEqual([0, true]);
  const piped = await run(argv, { env });
  expect(piped.opened).toEqual([JSON.parse(piped.out).url]);
  const blind = await run(argv, { env, openBrowser: () => Promise.reject(new Error("There is none.")) });
  expect([blind.code, blind.err]).toEqual([0, expect.stringContaining("open the address yourself")]);
  expect((await run(["checkouts", "create", "--products", id], { env })).opened).toEqual([]);
});
