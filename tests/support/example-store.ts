/** A store that has what the examples of the command line name: Pro, ada@example.com, newsletter and the rest. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { declareCancellation } from "./cancellations.ts";
import type { Floe, Seller } from "./floe.ts";
import { failedGrant } from "./grant-rows.ts";
import { someoneErased } from "./people-rows.ts";
import { disputeOrder, rowOf, sellOrder } from "./rows.ts";

type Run = (line: string) => Promise<unknown>;

const usage = { name: "completion", external_customer_id: "user_1", metadata: { tokens: 230 } };
const catalog = { version: 1, catalog: "main", products: { sampler: { name: "Sampler", prices: ["9.00"] } } };

/** Put the files that examples read in their folder, and take away those that examples write. */
export function writeExampleFiles(folder: string): void {
  const files = {
    "book.pdf": "%PDF-1.7",
    "book.epub": "epub",
    "cover.png": "png",
    "events.json": JSON.stringify({ events: [usage] }),
    "events.ndjson": `${JSON.stringify({ ...usage, external_id: "line-1" })}\n`,
    "customers.csv": "email,name\neve@example.com,Eve\n",
    "product.json": JSON.stringify({ name: "Sampler", prices: [{ amount_type: "free" }] }),
    "floe.yaml": JSON.stringify(catalog),
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  for (const name of ["plan.json", "invoices"]) rmSync(join(folder, name), { recursive: true, force: true });
}

/** What is made by commands, so that the examples of these are seen to work one after the other too. */
const making = [
  "floe organization update --feature-settings seat_based_pricing_enabled=true --subscription-settings allow_multiple_subscriptions=true",
  `floe meters create --name Tokens --filter 'name eq "completion"' --aggregation "sum tokens"`,
  `floe meters create --name "API calls" --filter 'name eq "api_call"' --aggregation count`,
  "floe files upload book.pdf",
  'floe benefits create --type license_keys --description "API key" --prefix ACME --activations 3',
  'floe benefits create --type downloadables --description "The book" --files book.pdf',
  'floe custom-fields create --type text --slug vat_note --name "Note on the invoice"',
  "floe custom-fields create --type select --slug size --name Size --options s=Small,m=Large",
  "floe products create --name Pro --price 19.00usd/month --benefits 'API key'",
  "floe products create --name Basic --price 9.00usd/month",
  "floe products create --name E-book --price 19.00usd --benefits 'The book'",
  "floe products create --name News --price free/month",
  "floe products create --name Team --seats 1-9:9.00usd,10-:8.00usd/month",
  "floe discounts create --name Launch --code LAUNCH20 --percent 20 --for 3months",
  "floe checkout-links create --products Pro --label newsletter",
  "floe tax registrations create --country DE --tax-id DE123456788",
  "floe customers create --email ada@example.com --name Ada --external-id user_1",
  "floe customers create --email acme@example.com --type team --external-id acme",
  "floe customer-members create acme@example.com --email kim@example.com --external-id kim",
  "floe webhooks create --url https://example.com/hooks --events order.paid,order.created,subscription.cycled,product.created",
  `floe events ingest --events '[{"name": "completion", "external_customer_id": "user_1", "metadata": {"tokens": 230}}]'`,
  "floe sandbox buy Pro --as ada@example.com",
  "floe sandbox buy E-book --as ada@example.com",
  "floe sandbox buy Team --as acme@example.com --seats 5",
  "floe sandbox buy Basic --as bob@example.com",
  "floe sandbox buy Basic --as leaving@example.com",
  "floe sandbox buy Basic --as away@example.com",
  "floe customers create --email gone@example.com",
  "floe products create --name Course --price 19.00usd/month --trial 14days",
];

const findId = async (rows: Promise<{ items: { id: string }[] }>): Promise<string> => {
  const [first] = (await rows).items;
  if (!first) throw new Error("The store does not have what an example names.");
  return first.id;
};

/** Make the store; answers the values of the words of examples that are known only then. */
export async function fillExampleStore(floe: Floe, seller: Seller, folder: string, receiver: string, run: Run) {
  const { client } = seller;
  writeExampleFiles(folder);
  for (const line of making) await run(line.replace("https://example.com/hooks", receiver));
  const findCustomer = (email: string) => findId(client.customers.list({ query: { email } }));
  const findSubscription = async (email: string) =>
    findId(client.subscriptions.list({ query: { customer_id: [await findCustomer(email)] } }));
  const product = async (query: string) => findId(client.products.list({ query: { query } }));
  const orderOf = async (name: string) => findId(client.orders.list({ query: { product_id: [await product(name)] } }));

  const ada = await findCustomer("ada@example.com");
  const book = await orderOf("E-book");
  const { invoice_number } = await client.orders.get({ params: { id: book } });
  const [key] = (await client.licenseKeys.list({ query: { customer_id: ada } as never })).items;
  if (!key) throw new Error("Pro came without a license key.");
  const { id: activation } = await client.licenseKeys.activate({
    body: { key: key.key, organization_id: seller.organization_id, label: "desk" },
  });
  const disputed = await disputeOrder(floe, seller, await sellOrder(floe, seller, ada));
  const refunded = await sellOrder(floe, seller, ada);
  const billed = { billing_name: "Ada", billing_address: { country: "FR" as const, city: "Paris" } };
  for (const id of [book, refunded]) await client.orders.update({ params: { id }, body: billed });
  const refund = await client.refunds.create({ body: { order_id: refunded, amount: 500, reason: "customer_request" } });
  const away = await findSubscription("away@example.com");
  await run(`floe subscriptions pause ${away} --yes`);
  await run("floe advance --by 1month");
  await run("floe checkouts create --products E-book --customer-email bob@example.com");
  const leaving = await findSubscription("leaving@example.com");
  await run(`floe subscriptions cancel ${leaving} --yes`);
  const seated = await findSubscription("acme@example.com");
  const seat = await client.customerSeats.assign({ body: { subscription_id: seated, email: "kim@example.com" } });
  await declareCancellation(floe, seller);
  const erased = await someoneErased(seller);
  const grant = await failedGrant(floe, seller);
  const team = await findCustomer("acme@example.com");
  const members = (await client.customerMembers.listOfCustomer({ params: { id: team }, query: {} })).items;
  const [delivery] = (await client.webhooks.listDeliveries({ query: {} })).items;
  const request = await rowOf.logs(floe, seller);
  const replays = (await rowOf.webhooks(floe, seller)).of as { getReplay: { id: string } };
  const words: Record<string, string> = {
    C70FC7: key.display_key.split("-").at(-1) ?? "",
    "ACME-0042": invoice_number ?? "",
    KEY: key.key,
    LICENSE_KEY_ID: key.id,
    ACTIVATION_ID: activation,
    ORDER_ID: book,
    REFUND_ID: refund.id,
    DISPUTE_ID: disputed,
    PRODUCT_ID: await product("E-book"),
    CHECKOUT_ID: await findId(client.checkouts.list({ query: { status: ["open"] } })),
    PAYMENT_ID: await findId(client.payments.list({ query: {} })),
    SUBSCRIPTION_ID: await findSubscription("bob@example.com"),
    TAX_REGISTRATION_ID: await findId(client.tax.listRegistrations({ query: {} })),
    EVENT_ID: await findId(client.events.list({ query: {} }) as Promise<{ items: { id: string }[] }>),
    CUSTOMER_METER_ID: await findId(client.customerMeters.list({ query: {} })),
    BENEFIT_GRANT_ID: grant,
    MOVE_ID: (await rowOf.subscriptionMigrations(floe, seller)).params.id ?? "",
    CHANGE_OF_BENEFITS_ID: await findId(client.grantRuns.list({ query: {} })),
    CANCELLATION_ID: await findId(client.cancellations.list({ query: {} })),
    SEAT_ID: seat.id,
    EXTERNAL_ID: "user_1",
    MEMBER_ID: members.find(({ email }) => email === "kim@example.com")?.id ?? "",
    MEMBER_EXTERNAL_ID: "kim",
    WEBHOOK_EVENT_ID: delivery?.webhook_event.id ?? "",
    REPLAY_ID: replays.getReplay.id,
    REQUEST_ID: request.params.request_id ?? "",
    "https://example.com/hooks": receiver,
    "3000/hooks": receiver,
  };
  /** Of these examples, what is meant is another one. */
  const others: [example: RegExp, words: Record<string, string>][] = [
    [/^floe subscriptions (?!create)/, { "ada@example.com": "bob@example.com", News: "Basic" }],
    [/^floe subscriptions update .* --seats|^floe seats /, { "ada@example.com": "acme@example.com" }],
    [/^floe seats (revoke|resend)/, { "lin@example.com": "kim@example.com" }],
    [/^floe subscriptions uncancel/, { "ada@example.com": "leaving@example.com" }],
    [/^floe subscriptions resume/, { "ada@example.com": "away@example.com" }],
    [/^floe customer-members .*EXTERNAL_ID/, { EXTERNAL_ID: "acme" }],
    [/^floe customers erasure/, { "ada@example.com": erased.id }],
    // Who is erased is not put back with the rest.
    [/^floe customers erase /, { "ada@example.com": "gone@example.com" }],
    [/^floe sandbox buy .* --card/, { Pro: "Course" }],
  ];
  const substitute = (example: string, made: Record<string, string> = {}): string => {
    const own = others.filter(([pattern]) => pattern.test(example)).map(([, meant]) => meant);
    const all = Object.assign({}, words, ...own, made) as Record<string, string>;
    return example.replaceAll(/(?:https?:\/\/)?[\w@./-]+/g, (word) => all[word] ?? word);
  };
  return { substitute };
}
export type ExampleStore = Awaited<ReturnType<typeof fillExampleStore>>;
