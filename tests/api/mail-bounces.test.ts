/** Addresses that took no mail: by the mail server's answer, and by notices of a mail service. */
import { desc, eq } from "drizzle-orm";
import { afterEach, beforeEach, expect, test } from "vitest";
import { mailBounces, mails } from "../../server/platform/db/tables.ts";
import { transact } from "../../server/platform/db/unit-of-work.ts";
import { runWorkers } from "../../server/platform/jobs/workers.ts";
import { bounceCleanup, deleteBounce } from "../../server/platform/mail-transport/bounces.ts";
import { type Mail, queueMail } from "../../server/platform/mail-transport/mail.ts";
import { type Floe, start } from "../support/floe.ts";
import { type MailServer, startMailServer } from "../support/mail-server.ts";

const secret = "f3N9-a-secret-of-the-mail-service-for-tests";
const path = "/v1/integrations/mail/bounces";
const letter: Mail = { to: "Buyer@example.com", subject: "Your order", paragraphs: ["Thank you."] };
let server: MailServer;
let floe: Floe;
beforeEach(async () => {
  server = await startMailServer();
  floe = await start({ settings: { SMTP_URL: server.url, FLOE_MAIL_BOUNCE_SECRET: secret } });
});
afterEach(async () => {
  await floe.close();
  await server.close();
});
const send = async (mail: Partial<Mail> = {}) => {
  await transact(floe.deps, (tx) => queueMail(tx, floe.deps, { ...letter, ...mail }));
  await floe.runJobs();
};
const readBounces = () => floe.deps.db.select().from(mailBounces).orderBy(mailBounces.address);
const readLatest = async () => (await floe.deps.db.select().from(mails).orderBy(desc(mails.id)).limit(1))[0];
const notify = (body: unknown, authorization?: string) =>
  floe.request("POST", path, { body, headers: authorization === undefined ? {} : { authorization } });

test("MAIL-01, MAIL-03: an address that is refused for good is sent nothing more, except what its owner asks for", async () => {
  server.refuse(550);
  await send();
  expect(await readBounces()).toMatchObject([{ address: "buyer@example.com", kind: "hard", source: "smtp", count: 1 }]);
  expect((await readLatest())?.refusal).toContain("550");
  server.refuse(undefined);
  await send({ subject: "A newsletter" });
  expect(server.tried()).toBe(1);
  expect(await readLatest()).toMatchObject({ sent_at: null, next_attempt_at: null, letter: "" });
  expect((await readLatest())?.refusal).toContain("took no mail before");
  await send({ subject: "Your code", is_requested: true });
  expect(server.received.map(({ subject }) => subject)).toEqual(["Your code"]);
  // What the operator forgets is sent again.
  expect(await deleteBounce(floe.deps.db, "BUYER@example.com")).toBe(true);
  await send({ subject: "Your receipt" });
  expect(server.received).toHaveLength(2);
});

test("MAIL-01: an answer of 4xx is kept with the mail, and stops nothing", async () => {
  server.refuse(450);
  await send();
  expect(await readLatest()).toMatchObject({ refusal: null, attempts: 1, last_answer: expect.stringContaining("450") });
  expect(await readBounces()).toEqual([]);
  server.refuse(undefined);
  floe.clock.advance(60_000);
  await floe.runJobs();
  expect(server.received).toHaveLength(1);
});

test("MAIL-01: a refusal of the mail and not of the address stops only this mail", async () => {
  server.refuse(554);
  await send();
  expect(await readBounces()).toMatchObject([{ kind: "soft", code: "554" }]);
  server.refuse(undefined);
  await send();
  expect(server.received).toHaveLength(1);
  floe.clock.advance(31 * 86_400_000);
  expect(await runWorkers(floe.deps, [bounceCleanup])).toBe(1);
  expect(await readBounces()).toEqual([]);
});

test("MAIL-02: notices are taken with the secret alone, and a hard bounce stays hard", async () => {
  const bounce = { address: "Ada@example.com", kind: "hard", code: "5.1.1", reason: "unknown" };
  for (const wrong of [undefined, "Bearer x", `Bearer ${secret}x`, `Basic ${btoa("user:x")}`, secret])
    expect((await notify(bounce, wrong)).status, wrong).toBe(403);
  expect(await readBounces()).toEqual([]);
  expect(await notify(bounce, `Bearer ${secret}`)).toMatchObject({ status: 200, json: { received: 1 } });
  const basic = `Basic ${Buffer.from(`any:${secret}`).toString("base64")}`;
  await notify(
    [
      { ...bounce, kind: "soft" },
      { address: "b@example.com", kind: "soft" },
    ],
    basic,
  );
  expect(await readBounces()).toMatchObject([
    { address: "ada@example.com", kind: "hard", count: 2, source: "notice" },
    { address: "b@example.com", kind: "soft", count: 1 },
  ]);
  await send({ to: "ada@example.com" });
  expect(server.tried()).toBe(0);
  const large = await notify({ ...bounce, reason: "x".repeat(300_000) }, `Bearer ${secret}`);
  expect(large.status).toBe(413);
  // A hundred at once about one address.
  await Promise.all(Array.from({ length: 100 }, () => notify({ ...bounce, address: "c@example.com" }, basic)));
  expect((await readBounces()).find(({ address }) => address === "c@example.com")?.count).toBe(100);
});

test("MAIL-02: a server without a secret takes no notices", async () => {
  const other = await start();
  const answer = await other.request("POST", path, { body: {}, headers: { authorization: "Bearer " } });
  expect(answer.status).toBe(404);
  await other.close();
});

test("a seller sees in the log what the mail server said, and an erased customer's address is forgotten", async () => {
  const seller = await floe.seller();
  server.refuse(550);
  await send({ organization_id: seller.organization_id });
  const logs = await floe.request("GET", "/v1/logs?kind=mail", { token: seller.key });
  const { items } = logs.json as { items: { target: string; status: string; error: string }[] };
  expect(items.find(({ target }) => target === letter.to)).toMatchObject({
    status: "failed",
    error: expect.stringContaining("550"),
  });
  const customer = await seller.client.customers.create({ body: { email: "buyer@example.com" } });
  await seller.client.customers.delete({ params: { id: customer.id }, query: { anonymize: true } });
  await floe.runJobs();
  expect(await floe.deps.db.select().from(mailBounces).where(eq(mailBounces.address, "buyer@example.com"))).toEqual([]);
});
