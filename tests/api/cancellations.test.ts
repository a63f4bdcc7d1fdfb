import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Ctx } from "../../server/platform/context.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { noticeCleanup } from "../../server/portal/cancellations/jobs.ts";
import { cancellationNotices } from "../../server/portal/cancellations/tables.ts";
import { countDeclaration } from "../../server/portal/code-limits.ts";
import { buildDeclaration, declareCancellation } from "../support/cancellations.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { mailsTo } from "../support/mails.ts";

/** Contracts are canceled on a public page, without an account (§ 312k BGB). */

let floe: Floe;
let seller: Seller;
let other: Seller;
let product_id: string;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  other = await floe.seller();
  const prices = [{ amount_type: "free" as const }];
  const body = { name: "Pro", recurring_interval: "month" as const, prices };
  product_id = (await seller.client.products.create({ body })).id;
  await seller.client.organizations.update({
    params: { id: seller.organization_id },
    body: { email: "help@frost.example" },
  });
});
afterAll(() => floe?.close());

const ask = (path: string, body: object) =>
  floe.request("POST", `/v1/customer-portal/cancellations${path}`, { body }) as Promise<{
    status: number;
    json: { error?: string; received_at?: string; canceled?: boolean; ends_at?: string; detail?: { loc: string[] }[] };
  }>;
const confirm = (token: string) => ask("/confirm", { token });
const list = (by = seller) => by.client.cancellations.list({ query: { limit: 100 } });
const newest = async () => {
  const [first] = (await list()).items;
  if (!first) throw new Error("Nothing was declared.");
  return first;
};
async function subscribe(email = `subscriber-${newId()}@example.com`) {
  const customer = await seller.client.customers.create({ body: { email } });
  const { id } = await seller.client.subscriptions.create({ body: { product_id, customer_id: customer.id } as never });
  const read = () => seller.client.subscriptions.get({ params: { id } });
  return { id, email, customer_id: customer.id, read };
}

describe("a declaration", () => {
  test("CUP-30: is stored, answered alike for a stranger and a customer, and confirmed by mail with text and time", async () => {
    const subscriber = await subscribe();
    const answers = [];
    for (const email of [subscriber.email, `stranger-${newId()}@example.com`]) {
      const declared = { ...buildDeclaration(seller.organization_id), email, wanted_on: "2030-01-31" };
      const answer = await ask("", {
        ...declared,
        kind: "extraordinary",
        reason: "It <b>never</b> worked",
        locale: "de",
      });
      answers.push({ status: answer.status, keys: Object.keys(answer.json) });
      expect(await newest()).toMatchObject({ email, confirmed_at: null, customer_id: null, subscription_id: null });
      const [mail] = await mailsTo(floe, email);
      expect(mail?.subject).toMatch(/hat Ihre Kündigung erhalten$/);
      for (const said of ["Ada Lovelace", "Außerordentliche Kündigung", "It <b>never</b> worked", "31. Januar 2030"])
        expect(mail?.text).toContain(said);
      expect(mail?.text).toMatch(/Eingegangen: \d+\. \p{L}+ \d{4} um \d\d:\d\d/u);
      expect(mail?.html).not.toContain("<b>never");
    }
    expect(answers[0]).toEqual({ status: 201, keys: ["received_at"] });
    expect(answers[1]).toEqual(answers[0]);
    // Whoever types an address cancels nothing.
    expect((await subscriber.read()).cancel_at_period_end).toBe(false);
  });

  test.each([
    ["name", { name: " " }],
    ["email", { email: "nobody" }],
    ["reference", { reference: "" }],
    ["reference", { reference: "x".repeat(201) }],
    ["kind", { kind: "other" }],
    ["reason", { kind: "extraordinary" }],
    ["reason", { reason: "x".repeat(2001) }],
    ["wanted_on", { wanted_on: "2026-02-30" }],
  ])("CUP-30: is refused with the place of its fault: %s", async (field, wrong) => {
    const before = (await list()).pagination.total_count;
    const { status, json } = await ask("", { ...buildDeclaration(seller.organization_id), ...wrong });
    expect(status).toBe(422);
    expect(json.detail?.map(({ loc }) => loc)).toEqual([["body", field]]);
    expect((await list()).pagination.total_count).toBe(before);
  });

  test("CUP-30: to a seller that does not exist is a 404", async () => {
    expect((await ask("", buildDeclaration(newId()))).status).toBe(404);
  });

  test("CUP-32: an address is written to five times a day, in whatever case", async () => {
    const organization_id = newId();
    const count = (email: string) =>
      countDeclaration(floe.deps as unknown as Ctx, { email, organization_id }).then(
        () => "counted",
        ({ status }) => status,
      );
    const typed = ["a@b.example", "A@b.example", "a@B.example", "a@b.example", "a@b.example", "A@B.example"];
    const answers = [];
    for (const email of typed) answers.push(await count(email));
    expect(answers).toEqual([...Array(5).fill("counted"), 429]);
    expect(await count("other@b.example")).toBe("counted");
  });

  test("CUP-32: is refused beyond that, and stores nothing", async () => {
    const declared = buildDeclaration(seller.organization_id);
    const before = (await list()).pagination.total_count;
    const answers = [];
    for (let count = 0; count < 6; count += 1) answers.push((await ask("", declared)).status);
    expect(answers).toEqual([...Array(5).fill(201), 429]);
    expect((await list()).pagination.total_count).toBe(before + 5);
  });

  test("CUP-32: is forgotten after 90 days unless it was confirmed", async () => {
    const [open, proved] = [await declareCancellation(floe, seller), await declareCancellation(floe, seller)];
    await confirm(proved);
    expect(open).not.toBe("");
    const old = new Date(floe.clock.now().getTime() - 91 * 24 * 60 * 60 * 1000);
    await floe.deps.db.update(cancellationNotices).set({ created_at: old });
    await runWorkers(floe.deps, [noticeCleanup]);
    const left = await list();
    expect(left.items.length).toBeGreaterThan(0);
    expect(left.items.every(({ confirmed_at }) => confirmed_at !== null)).toBe(true);
  });
});

describe("the link of the mail", () => {
  test("CUP-31: cancels at the end of the period, once, and tells the seller", async () => {
    const { email, id, read, customer_id } = await subscribe();
    const token = await declareCancellation(floe, seller, { email });
    const both = await Promise.all([confirm(token), confirm(token)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 410]);
    const { current_period_end, cancel_at_period_end } = await read();
    expect(cancel_at_period_end).toBe(true);
    expect(both.find(({ status }) => status === 200)?.json).toEqual({
      canceled: true,
      ends_at: current_period_end.toISOString(),
    });
    expect(await newest()).toMatchObject({ subscription_id: id, customer_id, settled_at: expect.any(Date) });
    const told = await mailsTo(floe, "help@frost.example");
    expect(told.some(({ text }) => text.includes(email))).toBe(true);
    // The log says both, and has nothing of what the buyer wrote.
    const declaration = await newest();
    const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.subject_id, declaration.id));
    expect(entries.map(({ action, actor_kind, details }) => [action, actor_kind, details]).toSorted()).toEqual([
      ["cancellation.confirmed", "anonymous", { subscription_id: id }],
      ["cancellation.declared", "anonymous", { kind: "ordinary" }],
    ]);
    expect(JSON.stringify(entries)).not.toContain(email);
    expect((await confirm(token)).status).toBe(410);
  });

  test("CUP-31: an extraordinary cancellation ends with the period, and is left for the seller to settle", async () => {
    const { email, id } = await subscribe();
    const reason = "It never worked";
    const token = await declareCancellation(floe, seller, { email, kind: "extraordinary", reason });
    expect((await confirm(token)).json.canceled).toBe(true);
    const open = await newest();
    expect(open).toMatchObject({ subscription_id: id, settled_at: null, reason });
    const params = { id: open.id };
    const settled = await seller.client.cancellations.settle({ params });
    expect(settled.settled_at).toEqual(expect.any(Date));
    floe.clock.advance(1000);
    expect(await seller.client.cancellations.settle({ params })).toEqual(settled);
    const query = { settled: "false" } as never;
    const left = (await seller.client.cancellations.list({ query })).items;
    expect(left.some((one) => one.id === open.id)).toBe(false);
  });

  test.each([
    ["nobody has the address", async () => `stranger-${newId()}@example.com`, {}],
    ["it is to end later", async () => (await subscribe()).email, { wanted_on: "2100-01-01" }],
  ])("CUP-31: cancels nothing where %s, and the seller decides", async (_, find, more) => {
    const token = await declareCancellation(floe, seller, { email: await find(), ...more });
    expect(await confirm(token)).toMatchObject({ status: 200, json: { canceled: false, ends_at: null } });
    expect(await newest()).toMatchObject({ subscription_id: null, settled_at: null, confirmed_at: expect.any(Date) });
  });

  test("CUP-31: expires after 30 days, and is stored as a hash alone", async () => {
    const { email, read } = await subscribe();
    const token = await declareCancellation(floe, seller, { email });
    const { id } = await newest();
    const [row] = await floe.deps.db.select().from(cancellationNotices).where(eq(cancellationNotices.id, id));
    expect(JSON.stringify(row)).not.toContain(token);
    expect(JSON.stringify(await newest())).not.toContain("token");
    floe.clock.advance(30 * 24 * 60 * 60 * 1000);
    expect((await confirm(token)).status).toBe(410);
    expect((await read()).cancel_at_period_end).toBe(false);
  });

  test("CUP-31: cancels the customer's subscription of that seller alone", async () => {
    const { email, read } = await subscribe();
    const token = await declareCancellation(floe, other, { email });
    expect((await confirm(token)).json.canceled).toBe(false);
    expect((await read()).cancel_at_period_end).toBe(false);
    const [theirs] = (await list(other)).items;
    const params = { id: theirs?.id ?? "" };
    for (const call of [seller.client.cancellations.get, seller.client.cancellations.settle])
      await expect(call({ params })).rejects.toMatchObject({ status: 404 });
  });
});

test("CUP-32: what a customer declared is forgotten with the customer, and what others declared is not", async () => {
  const { email, customer_id } = await subscribe();
  await declareCancellation(floe, seller, { email });
  await confirm(await declareCancellation(floe, seller, { email }));
  await declareCancellation(floe, seller);
  const before = (await list()).pagination.total_count;
  await seller.client.customers.erase({ params: { id: customer_id } });
  await floe.runJobs();
  const left = await list();
  expect(left.pagination.total_count).toBe(before - 2);
  expect(left.items.some((one) => one.email === email)).toBe(false);
});
