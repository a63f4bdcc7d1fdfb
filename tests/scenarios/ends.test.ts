import { existsSync } from "node:fs";
import { sql } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { linkCard } from "../../server/billing/subscriptions/card-link.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { keyBody } from "../support/grant-rows.ts";
import { newId } from "../support/ids.ts";
import {
  buyerOf,
  inviteTo,
  mailedCode,
  mailedLink,
  mailedPortalLink,
  sellSeats,
  sellUnpaid,
  tokenOf,
} from "../support/portal-rows.ts";
import { rowOf } from "../support/rows.ts";

/**
 * Everything that is given out and ends, with how long it lasts and the clock that it follows. What people hold in their
 * hands (sessions, codes, mailed links) lasts by the server's clock, also in a sandbox that is moved through time. What a
 * seller's calendar decides (checkouts, discounts, license keys) lasts by the organization's.
 */

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

type Given = { isAlive(): Promise<boolean> };
type Row = {
  what: string;
  clock: "server" | "organization";
  lasts_ms: number;
  /** Give it out; `isAlive` is asked several times, so it spends nothing unless `once`. */
  give(floe: Floe, seller: Seller): Promise<Given>;
  /** What is spent by the question is given out anew for each. */
  once?: true;
};

const isOk = (status: number): boolean => status < 400;

const rows: Row[] = [
  {
    what: "a customer session",
    clock: "server",
    lasts_ms: hourMs,
    async give(floe, seller) {
      const token = await tokenOf(seller);
      return {
        isAlive: async () => isOk((await floe.request("GET", "/v1/customer-portal/customers/me", { token })).status),
      };
    },
  },
  {
    what: "a token of a stream of events",
    clock: "server",
    lasts_ms: minuteMs,
    once: true,
    async give(floe, seller) {
      const made = await floe.request("POST", "/v1/events/stream/tokens", { token: seller.key, body: {} });
      const { token } = made.json as { token: string };
      // A place that is none is refused after the token was accepted, so that no stream stays open.
      const path = `/v1/events/stream?token=${token}&cursor=none`;
      return { isAlive: async () => (await floe.request("GET", path)).status === 422 };
    },
  },
  {
    what: "a mailed code of the portal",
    clock: "server",
    lasts_ms: 10 * minuteMs,
    once: true,
    async give(floe, seller) {
      const body = { code: await mailedCode(floe, seller) };
      return {
        isAlive: async () =>
          isOk((await floe.request("POST", "/v1/customer-portal/customer-session/authenticate", { body })).status),
      };
    },
  },
  {
    what: "a link to another address of a customer",
    clock: "server",
    lasts_ms: dayMs,
    async give(floe, seller) {
      const token = await mailedLink(floe, seller);
      const path = `/v1/customer-portal/customers/me/email-update/check?token=${token}`;
      return { isAlive: async () => isOk((await floe.request("GET", path)).status) };
    },
  },
  {
    what: "the link to the portal in a mail",
    clock: "server",
    once: true,
    lasts_ms: 30 * dayMs,
    async give(floe, seller) {
      const body = { token: await mailedPortalLink(floe, seller) };
      return {
        isAlive: async () =>
          isOk((await floe.request("POST", "/v1/customer-portal/customer-session/link", { body })).status),
      };
    },
  },
  {
    what: "the link to another card in a mail",
    clock: "server",
    lasts_ms: 30 * dayMs,
    async give(floe, seller) {
      const { organization_id, client } = seller;
      const order = await sellUnpaid(floe, seller, await buyerOf(seller));
      const { subscription_id, customer_id } = await client.orders.get({ params: { id: order.id } });
      const named = { organization_id, id: subscription_id ?? "", customer_id };
      const token = linkCard(floe.deps.config, named, floe.clock.now()).url.split("/").at(-1);
      return { isAlive: async () => isOk((await floe.request("GET", `/v1/card-links/${token}`)).status) };
    },
  },
  {
    what: "an invitation to a seat",
    clock: "organization",
    lasts_ms: dayMs,
    async give(floe, seller) {
      const { subscription_id } = await sellSeats(floe, seller);
      const { token } = await inviteTo(floe, seller, subscription_id);
      return { isAlive: async () => isOk((await floe.request("GET", `/v1/customer-seats/claim/${token}`)).status) };
    },
  },
  {
    what: "a kept answer of an idempotency key",
    clock: "server",
    lasts_ms: dayMs,
    once: true,
    async give(floe, { key }) {
      const headers = { "idempotency-key": newId() };
      const body = { name: "Guide", prices: [{ amount_type: "free" }] };
      const create = () => floe.request("POST", "/v1/products/", { token: key, body, headers });
      const first = await create();
      return { isAlive: async () => (await create()).text === first.text };
    },
  },
  {
    what: "a link to a metrics page",
    clock: "server",
    lasts_ms: 10 * minuteMs,
    async give(floe, { client }) {
      const { url } = await client.metrics.link({ body: {} });
      const token = new URLSearchParams(url.split("#")[1]).get("token") ?? "";
      return { isAlive: async () => isOk((await floe.request("GET", "/v1/metrics/limits", { token })).status) };
    },
  },
  {
    what: "the address of a downloadable file",
    clock: "server",
    lasts_ms: hourMs,
    async give(floe, seller) {
      await rowOf.portalDownloads(floe, seller);
      const token = await tokenOf(seller);
      const { json } = await floe.request("GET", "/v1/customer-portal/downloadables/", { token });
      const [first] = (json as unknown as { items: { file: { download: { url: string } } }[] }).items;
      const { pathname, search } = new URL(first?.file.download.url ?? "");
      return {
        isAlive: async () => isOk((await floe.request("GET", `${pathname}${search}`)).status),
      };
    },
  },
  {
    what: "an open checkout",
    clock: "organization",
    lasts_ms: dayMs,
    async give(floe, seller) {
      const { client_secret = "" } = (await rowOf.checkoutClient(floe, seller)).params;
      return { isAlive: async () => isOk((await floe.request("GET", `/v1/checkouts/client/${client_secret}`)).status) };
    },
  },
  {
    what: "a discount with an end",
    clock: "organization",
    lasts_ms: dayMs,
    async give(floe, seller) {
      const { client, organization_id } = seller;
      const { clock } = floe;
      const [moved] = Array.from(
        (await floe.deps.db.execute(
          sql`select clock_offset_ms::float8 as ms from organization where id = ${organization_id}`,
        )) as Iterable<{ ms: number }>,
      );
      const ends_at = new Date(clock.now().getTime() + (moved?.ms ?? 0) + dayMs).toISOString();
      const { id } = await client.discounts.create({
        body: { name: "Ends", duration: "once", basis_points: 1000, ends_at },
      });
      const book = await client.products.create({
        body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
      });
      const body = { products: [book.id], discount_id: id };
      return {
        isAlive: async () => isOk((await floe.request("POST", "/v1/checkouts/", { token: seller.key, body })).status),
      };
    },
  },
  {
    what: "a license key with an end",
    clock: "organization",
    lasts_ms: dayMs,
    async give(floe, seller) {
      const { body } = await keyBody(floe, seller);
      const { items } = await seller.client.licenseKeys.list({ query: {} });
      const sold = items.find(({ key }) => key === body.key);
      const { json } = await floe.request("GET", `/v1/license-keys/${sold?.id}`, { token: seller.key });
      const from = Date.parse((json as { created_at: string }).created_at);
      const expires_at = new Date(from + dayMs).toISOString();
      await seller.client.licenseKeys.update({ params: { id: sold?.id ?? "" }, body: { expires_at } });
      return {
        isAlive: async () =>
          isOk((await floe.request("POST", "/v1/customer-portal/license-keys/validate", { body })).status),
      };
    },
  },
];

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

/** Move the clock of a seller ahead of the server's. */
const move = ({ organization_id }: Seller, ms: number) =>
  floe.deps.db.execute(
    sql`update organization set clock_offset_ms = clock_offset_ms + ${ms} where id = ${organization_id}`,
  );

describe.each(rows)("$what", ({ clock, lasts_ms, give, once }) => {
  /** Give it out, let so much time go by on each clock, and ask whether it is still good. */
  async function isGoodAfter(passed: { server?: number; organization?: number }): Promise<boolean> {
    // Accounts go by the machine's own time, too.
    floe.clock.time = new Date();
    const seller = await floe.seller("ends");
    const given = await give(floe, seller);
    if (!once) expect(await given.isAlive()).toBe(true);
    floe.clock.advance(passed.server ?? 0);
    await move(seller, passed.organization ?? 0);
    return given.isAlive();
  }

  test(`lasts by the clock of the ${clock}, and no longer`, async () => {
    expect(await isGoodAfter({ [clock]: lasts_ms - 2000 })).toBe(true);
    expect(await isGoodAfter({ [clock]: lasts_ms + 2000 })).toBe(false);
  });

  test(`and not by another`, async () => {
    // The clock of an organization goes with the server's, so what it decides ends with either.
    const other = clock === "server" ? { organization: 400 * dayMs } : { server: 0 };
    expect(await isGoodAfter(other)).toBe(true);
  });
});

/** Columns that say until when something is good or held: the clock that each follows, and the test that moves it. */
const columns: Record<string, [Row["clock"], string]> = {
  "attempts.locked_until": ["server", "tests/api/limits.test.ts"],
  "attempts.window_ends_at": ["server", "tests/api/limits.test.ts"],
  "book_checks.rests_until": ["server", "tests/scenarios/book-checks.test.ts"],
  "checkouts.expires_at": ["organization", "tests/scenarios/ends.test.ts"],
  "ci_exchanges.expires_at": ["server", "tests/api/ci-rules.test.ts"],
  "customer_account_requests.expires_at": ["server", "tests/api/connecting.test.ts"],
  "customer_accounts.expires_at": ["server", "tests/scenarios/grants-outside.long.test.ts"],
  "cancellation_notices.expires_at": ["server", "tests/api/cancellations.test.ts"],
  "customer_accounts.renewing_until": ["server", "tests/scenarios/grants-outside.long.test.ts"],
  "customer_meter_lots.expires_at": ["organization", "tests/api/credits.test.ts"],
  "customer_meter_windows.late_until": ["organization", "tests/scenarios/subscriptions-metered-late.test.ts"],
  "customer_meters.ends_at": ["organization", "tests/scenarios/subscriptions-metered.test.ts"],
  "customer_seats.invitation_token_expires_at": ["server", "tests/scenarios/ends.test.ts"],
  "customer_sessions.expires_at": ["server", "tests/scenarios/ends.test.ts"],
  "event_stream_tokens.expires_at": ["server", "tests/scenarios/ends.test.ts"],
  "discounts.ends_at": ["organization", "tests/scenarios/ends.test.ts"],
  "grant_accesses.leased_until": ["server", "tests/scenarios/grants-outside.long.test.ts"],
  "license_keys.expires_at": ["organization", "tests/scenarios/ends.test.ts"],
  "mails.expires_at": ["server", "tests/api/mail-delivery.test.ts"],
  "organization.clock_held_until": ["server", "tests/api/sandbox.test.ts"],
  "polar_leases.leased_until": ["server", "tests/hosted/connect-races.test.ts"],
  "portal_codes.expires_at": ["server", "tests/scenarios/ends.test.ts"],
  "subscriptions.ends_at": ["organization", "tests/scenarios/subscriptions-ends.test.ts"],
  "tax_registrations.ends_at": ["organization", "tests/api/tax.test.ts"],
  "webhook_endpoints.paused_until": ["server", "tests/api/webhook-pauses.test.ts"],
};
const isEnd = sql`data_type like 'timestamp%' and table_schema = 'public' and column_name ~ '(expires_at|ends_at|until)$'`;

test("every column that says until when is in the table, and its test is there", async () => {
  const found = await floe.deps.db.execute(
    sql`select table_name || '.' || column_name as name from information_schema.columns where ${isEnd} order by 1`,
  );
  const names = Array.from(found as Iterable<{ name: string }>, ({ name }) => name);
  expect(names).toEqual(Object.keys(columns).sort());
  for (const [, file] of Object.values(columns)) expect(existsSync(file), file).toBe(true);
});
