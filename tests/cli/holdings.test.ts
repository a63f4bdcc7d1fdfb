import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { soldKey } from "../support/grant-rows.ts";
import { sellSeats } from "../support/portal-rows.ts";
import { begin, floe as run, until } from "./support.ts";

/** What customers hold, from the terminal: what is taken back asks first, and whatever can be typed next can be read. */

let floe: Floe;
let seller: Seller;
let env: Record<string, string>;
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  env = { FLOE_SERVER: floe.url, FLOE_API_KEY: seller.key };
});
afterAll(() => floe.close());

const typed = (...argv: string[]) => run(argv, { env, tty: true, columns: 80 });
/** Answer its question with this. */
async function answer(text: string, ...argv: string[]) {
  const here = begin(argv, { env, tty: true, columns: 80 });
  await until(() => here.stderr.text.includes("[y/N]"));
  here.stdin.write(text);
  return { code: await here.ended, out: here.stdout.text, err: here.stderr.text };
}

test("a key is read with the places where it is in use, each by the id that ends it", async () => {
  const { id, key, activation_id } = await soldKey(floe, seller);
  const { out } = await typed("license-keys", "get", id);
  expect(out).toMatch(/\nactivations\nLABEL +CREATED +ID\nDesk +just now +[\da-f-]{36}\n$/);
  const ended = [...["license-keys", "deactivate"], ...["--key", key, "--activation-id", activation_id]];
  expect((await run(ended, { env })).code).toBe(0);
  expect((await typed("license-keys", "get", id)).out).not.toContain("activations\nLABEL");
  expect((await run(ended, { env })).code).not.toBe(0);
  const gone = await typed("license-keys", "activation", id, activation_id);
  expect(gone.err).toContain(`or it has no ${activation_id}`);
  // In a pipe it is what the server has answered.
  expect(JSON.parse((await run(["license-keys", "get", id], { env })).out)).toMatchObject({ activations: [] });
});

test("seats are read by line, with the id by which one is taken back, which asks first", async () => {
  const { subscription_id } = await sellSeats(floe, seller, 3);
  const assigned = await typed("seats", "assign", "--subscription-id", subscription_id, "--email", "bob@example.com");
  expect(assigned.err).toContain("✓ Assigned the seat bob@example.com.");
  const [seat] = (await seller.client.customerSeats.list({ query: { subscription_id } })).seats;
  const id = seat?.id ?? "";
  const list = ["seats", "list", "--subscription-id", subscription_id];
  expect((await typed(...list)).out).toMatch(
    new RegExp(`^available seats  2\ntotal seats +3\n\nseats\nCUSTOMER EMAIL .*\nbob@example.com  pending  ${id}\n$`),
  );
  expect((await typed("seats", "resend", id)).err).toContain("Sent again the mail about the seat bob@example.com.");
  expect((await answer("n\n", "seats", "revoke", id)).err).toContain("nothing was changed");
  const unasked = await run(["seats", "revoke", id], { env });
  expect([unasked.code, unasked.out]).toEqual([64, ""]);
  expect((await typed(...list)).out).toContain("pending");
  const taken = await answer("y\n", "seats", "revoke", id);
  expect([taken.code, taken.err]).toEqual([0, expect.stringContaining("✓ Revoked the seat.")]);
  expect((await typed(...list)).out).toMatch(/available seats {2}3[\s\S]*revoked/);
});

test("an erasure asks, says what is going on still, and how to see how far it is", async () => {
  const { id } = await seller.client.customers.create({ body: { email: "ada@example.com" } });
  expect((await answer("n\n", "customers", "erase", "ada@example.com")).err).toContain("nothing was changed");
  const { code, err } = await answer("y\n", "customers", "erase", "ada@example.com");
  expect([code, err]).toEqual([0, expect.stringContaining(`Next: floe customers erasure ${id}\n`)]);
  await floe.runJobs();
  const { err: said, out } = await typed("customers", "erasure", id);
  expect([said, out]).toEqual([expect.stringContaining("all that was held"), expect.stringContaining("finished at")]);
});
