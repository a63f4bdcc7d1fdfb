import { createHash, createPublicKey, verify } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
});
afterAll(() => floe?.close());

type Line = { id: string; external_id: string | null; status: string };
type Answer = { inserted: number; duplicates: number; events?: Line[]; receipt?: string };
const send = async (events: unknown[], query = ""): Promise<Answer> => {
  const { json, status, text } = await floe.request("POST", `/v1/events/ingest${query}`, {
    token: seller.key,
    body: { events },
  });
  expect(status, text).toBe(200);
  return json;
};
const event = (external_id: string, n = 1) => ({
  name: "use",
  external_customer_id: "user-1",
  external_id,
  metadata: { n },
});

test("a receipt is signed with a published key, and says what became of each event in the order sent", async () => {
  await send([event("r-1")]);
  const {
    inserted,
    duplicates,
    events = [],
    receipt = "",
  } = await send([event("r-1"), event("r-2"), event("r-1", 2)], "?receipt=true&representation=true");
  const { keys } = (await floe.request("GET", "/.well-known/floe-receipts.json")).json as { keys: { kid: string }[] };
  const [head = "", body = "", signature = ""] = receipt.split(".");
  const { alg, kid } = JSON.parse(Buffer.from(head, "base64url").toString());
  const key = createPublicKey({ key: keys.find((one) => one.kid === kid) as never, format: "jwk" });
  const holds = (text: string) => verify(null, Buffer.from(text), key, Buffer.from(signature, "base64url"));
  expect([alg, holds(`${head}.${body}`), holds(`${head}.${body}x`)]).toEqual(["EdDSA", true, false]);
  expect(JSON.stringify(keys)).not.toContain('"d"');
  const digest = createHash("sha256").update(
    events.map((one) => `${one.external_id ?? one.id} ${one.status}\n`).join(""),
  );
  expect(JSON.parse(Buffer.from(body, "base64url").toString())).toMatchObject({
    sub: seller.organization_id,
    ...{ inserted, duplicates, events: digest.digest("base64url") },
  });
  expect(events.map(({ status }) => status)).toEqual(["duplicate", "no_customer", "conflict"]);
});

test("without being asked for, an answer has no receipt", async () => {
  expect(await send([event("plain")])).toEqual({ inserted: 1, duplicates: 0 });
});

test("what is only tried is told as if it was sent, and none of it stays", async () => {
  const { events = [], receipt } = await send(
    [event("r-1"), event("tried")],
    "?preview=true&representation=true&receipt=true",
  );
  expect([events.map(({ status }) => status), receipt]).toEqual([["duplicate", "no_customer"], undefined]);
  const { items } = await seller.client.events.list({ query: { limit: 100 } });
  expect(items.map(({ external_id }) => external_id)).not.toContain("tried");
  expect(await send([event("tried")])).toEqual({ inserted: 1, duplicates: 0 });
});
