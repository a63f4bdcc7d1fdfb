/**
 * Whether what was bought is there with the answer that says so: so many sales on PostgreSQL, several at a time, and after each the
 * customer's state is asked for at once, of another server. What is missing once is printed, and the exit code is 1.
 *
 *   node bench/at-once.mjs [sales]          10,000 where nothing is said; needs Node 24, as it reads TypeScript
 */
import { upload } from "../tests/support/files.ts";
import { start } from "../tests/support/floe.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const sales = Number(process.argv[2] ?? 10_000);
const sideBySide = 8;
const credit = 100;

const database = await startPostgres();
// No mail is written, as its layout is JSX, which Node does not read by itself.
const options = { databaseUrl: database.url, realTime: true, settings: { FLOE_EMAIL_VERIFICATION: "off" } };
const sells = await start(options);
const tells = await start(options);
try {
  const seller = await sells.seller("at-once");
  const { client, key } = seller;
  const filter = { conjunction: "and", clauses: [{ property: "name", operator: "eq", value: "call" }] };
  const meter = await client.meters.create({ body: { name: "Calls", filter, aggregation: { func: "count" } } });
  const file = await upload(sells, client, Buffer.from("A map of ice."));
  const bodies = [
    { type: "license_keys", description: "A key", properties: {} },
    { type: "custom", description: "A note", properties: {} },
    { type: "downloadables", description: "A map", properties: { files: [file.id] } },
    { type: "meter_credit", description: "Calls", properties: { meter_id: meter.id, units: credit, rollover: false } },
  ];
  const benefits = [];
  for (const body of bodies) benefits.push((await client.benefits.create({ body })).id);
  const prices = [{ amount_type: "fixed", price_amount: 1900 }];
  const { id } = await client.products.create({ body: { name: "Pro", recurring_interval: "month", prices } });
  await client.products.setBenefits({ params: { id }, body: { benefits } });

  /** Somebody buys; answers what is wrong with their state, if anything is. */
  async function buy(number) {
    const { client_secret } = await client.checkouts.create({ body: { products: [id] } });
    const body = {
      customer_email: `buyer-${number}@example.com`,
      customer_name: "Ada",
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    };
    const path = `/v1/checkouts/client/${client_secret}/confirm`;
    const paid = await sells.request("POST", path, { body });
    const state = await tells.request("GET", `/v1/customers/${paid.json.customer_id}/state`, { token: key });
    if (paid.status !== 200 || state.status !== 200) return `${number}: ${paid.status} ${paid.text} ${state.text}`;
    const { granted_benefits, active_subscriptions, active_meters } = state.json;
    const held = granted_benefits.map(({ benefit_id }) => benefit_id).sort();
    const isRight =
      held.join() === benefits.toSorted().join() &&
      active_subscriptions.length === 1 &&
      active_meters.length === 1 &&
      active_meters[0].balance === credit;
    return isRight ? undefined : `${number}: ${state.text}`;
  }

  const began = performance.now();
  const wrong = [];
  let next = 0;
  await Promise.all(
    Array.from({ length: sideBySide }, async () => {
      while (next < sales) {
        const fault = await buy(next++);
        if (fault) wrong.push(fault);
        if (next % 1000 === 0) console.error(`${next} …`);
      }
    }),
  );
  const seconds = Math.round((performance.now() - began) / 1000);
  for (const fault of wrong.slice(0, 5)) console.log(fault);
  console.log(`${sales - wrong.length} of ${sales} states were right with the paid answer, in ${seconds} s`);
  process.exitCode = wrong.length > 0 ? 1 : 0;
} finally {
  await tells.close();
  await sells.close();
  await database.stop();
}
