/** The command line against the real server: what a stand-in cannot know. */
import { join } from "node:path";
import { validateEvent } from "polar-sdk-0.49/webhooks.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { begin, floe, folder, until } from "./support.ts";

let server: Floe;
let seller: Seller;
let receiver: Receiver;
let env: Record<string, string>;

beforeAll(async () => {
  server = await start({ listen: true, worker: true });
  seller = await server.seller("acme");
  receiver = await startReceiver();
  env = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: join(folder(), "floe") };
});
afterAll(async () => {
  await receiver.close();
  await server.close();
});

const json = async <T>(...argv: string[]): Promise<T> => {
  const { code, out, err } = await floe(argv, { env });
  expect([code, err]).toEqual([0, expect.not.stringContaining("floe:")]);
  return JSON.parse(out) as T;
};

/** Sign in as the seller: the code is approved in the way that the page does it. */
async function signIn(answer: "approve" | "deny") {
  let user_code = "";
  const decide = async (): Promise<void> => {
    const path = `/api/auth/device?user_code=${user_code}`;
    expect((await server.request("GET", path, { token: seller.session })).status).toBe(200);
    const body = { userCode: user_code };
    const { status } = await server.request("POST", `/api/auth/device/${answer}`, { token: seller.session, body });
    expect(status).toBe(200);
  };
  // A terminal, so that the browser is "opened": by us.
  return floe(["login"], {
    env,
    tty: true,
    openBrowser: async (url) => {
      user_code = new URL(url).searchParams.get("user_code") ?? "";
      await decide();
    },
  });
}

test("a denied sign-in is exit 5 and leaves nothing behind", async () => {
  const { code, err } = await signIn("deny");
  expect(code).toBe(5);
  expect(err).toContain("denied in the browser");
  expect((await floe(["whoami"], { env })).code).toBe(4);
});

test("a sale, from sign-in to the signed event on this machine", async () => {
  const { code, err } = await signIn("approve");
  expect([code, err]).toEqual([0, expect.stringContaining(`as ${seller.email}`)]);
  expect(await json("whoami", "--json", "user.email,organization.id")).toEqual({
    user: { email: seller.email },
    organization: { id: seller.organization_id },
  });

  const stop = new AbortController();
  const listener = begin(["listen", "--forward-to", receiver.url, "--events", "order.paid"], {
    env,
    signal: stop.signal,
  });
  await until(() => listener.stderr.text.includes("Signing secret"));
  const { out: printed } = await floe(["listen", "--print-secret"], { env });

  const product = await json<{ id: string }>("products", "create", "--name", "Pro", "--price", "19.00");
  const checkout = await json<{ client_secret: string; total_amount: number }>(
    "checkouts",
    "create",
    "--products",
    product.id,
  );
  expect(checkout.total_amount).toBe(1900);
  const path = `/v1/checkouts/client/${checkout.client_secret}/confirm`;
  await json(
    "api",
    "POST",
    path,
    "-F",
    "confirmation_token_id=pm_card_visa",
    "-F",
    "customer_email=zoe@example.com",
    "--data",
    '{"customer_billing_address":{"country":"US","state":"NY","line1":"1 Main St","city":"New York","postal_code":"10001"}}',
  );

  await until(() => receiver.received.length === 1, 15_000);
  stop.abort();
  await listener.ended;
  const { body, headers } = receiver.received[0] as (typeof receiver.received)[number];
  const event = validateEvent(body, headers as Record<string, string>, printed.trim());
  expect(event.type).toBe("order.paid");
  expect(await json("orders", "list", "--json", "status,total_amount,customer.email")).toEqual([
    { status: "paid", total_amount: 1900, customer: { email: "zoe@example.com" } },
  ]);
});

test("every resource lists, and its columns are of what comes", async () => {
  for (const group of ["products", "customers", "checkouts", "orders", "payments", "webhooks", "orgs"]) {
    expect(Array.isArray(await json(group, "list")), group).toBe(true);
    const { code, out } = await floe([group, "list"], { env, tty: true, columns: 200 });
    expect([group, code, out.includes("undefined")]).toEqual([group, 0, false]);
  }
  const { out } = await floe(["orders", "list"], { env, tty: true, columns: 200 });
  expect(out).toContain("$19.00");
  expect(out).toContain("zoe@example.com");
});

describe("the organization in use", () => {
  const run = (tty: boolean, ...argv: string[]) =>
    floe(["organization", ...argv], { env: { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key }, tty });

  test("is read with nothing but a key: fields for a person, JSON for a program", async () => {
    const { code, out, leafed } = await run(true, "get");
    const shown = out + leafed.map(({ text }) => text).join("");
    expect([code, shown]).toEqual([
      0,
      expect.stringMatching(/^feature_settings\n( {2}.*\n)* {2}seat_based_pricing_enabled +no$/m),
    ]);
    const { out: json } = await run(false, "get", "--json", "id,feature_settings");
    expect(JSON.parse(json)).toMatchObject({
      id: seller.organization_id,
      feature_settings: { wallets_enabled: false },
    });
  });

  test("is changed key by key, also where the server takes a group of settings whole (ORG-01)", async () => {
    const before = JSON.parse((await run(false, "get")).out);
    const { code, out, err } = await run(
      false,
      ...["update", "--name", "Acme Tools", "--feature-settings", "member_model_enabled=true"],
      ...["--subscription-settings", "proration_behavior=invoice", "--customer-portal-settings"],
      ...["subscription.pause=true", "--customer-email-settings=subscription_cycled=false"],
    );
    expect([code, err]).toEqual([0, ""]);
    const { subscription_settings, customer_email_settings, customer_portal_settings } = before;
    expect(JSON.parse(out)).toMatchObject({
      name: "Acme Tools",
      feature_settings: { ...before.feature_settings, member_model_enabled: true },
      subscription_settings: { ...subscription_settings, proration_behavior: "invoice" },
      customer_email_settings: { ...customer_email_settings, subscription_cycled: false },
      customer_portal_settings: {
        ...customer_portal_settings,
        subscription: { ...customer_portal_settings.subscription, pause: true },
      },
    });
  });

  test("a setting that there is not, or with a value of another kind, is refused with those there are", async () => {
    const wrong = await run(false, "update", "--feature-settings", "seats=true");
    expect([wrong.code, wrong.err]).toEqual([64, expect.stringContaining("seat_based_pricing_enabled")]);
    const kind = await run(false, "update", "--subscription-settings", "prevent_trial_abuse=maybe");
    expect([kind.code, kind.err]).toEqual([64, expect.stringContaining("true or false")]);
  });

  test("a person's own key that is good for several is asked which, and takes a slug", async () => {
    const other = await json<{ slug: string }>("orgs", "create", "Second", "--slug", "second-store");
    const scopes = "organizations:read";
    const { key } = await json<{ key: string }>("api-keys", "create", "mine", "--personal", "--scopes", scopes);
    const mine = { FLOE_SERVER: server.url, FLOE_API_KEY: key };
    const unclear = await floe(["organization", "get"], { env: mine });
    expect([unclear.code, unclear.err]).toEqual([64, expect.stringContaining(`--org ${other.slug}`)]);
    const { out } = await floe(["organization", "get", "--org", other.slug, "--json", "slug"], { env: mine });
    expect(JSON.parse(out)).toEqual({ slug: other.slug });
  });
});

test("an organization that is not the API key's own is refused, not ignored; its own may be named by id and slug", async () => {
  const [own] = await json<{ id: string; slug: string }[]>("orgs", "list", "--json", "id,slug");
  const list = (key: string, ...org: string[]) =>
    floe(["products", "list", ...org], { env: { FLOE_SERVER: server.url, FLOE_API_KEY: key } });
  for (const named of [own?.id ?? "", own?.slug ?? ""]) expect((await list(seller.key, "--org", named)).code).toBe(0);
  const foreign = await list(seller.key, "--org", crypto.randomUUID());
  expect([foreign.code, foreign.err]).toEqual([64, expect.stringContaining(own?.id ?? "")]);
  const elsewhere = await floe(["products", "list"], {
    env: { FLOE_SERVER: server.url, FLOE_API_KEY: seller.key, FLOE_ORG: "elsewhere" },
  });
  expect([elsewhere.code, elsewhere.err]).toEqual([
    64,
    expect.stringMatching(new RegExp(`good for ${own?.slug}, and not for "elsewhere"\n.*Leave --org`)),
  ]);
  const { key } = await json<{ key: string }>(
    ...["api-keys", "create", "narrow", "--scopes", "products:read", "--org", own?.id ?? ""],
  );
  const untold = await list(key, "--org", own?.slug ?? "");
  expect([untold.code, untold.err]).toEqual([64, expect.stringContaining("may not read organizations")]);
  expect((await list(key, "--org", own?.id ?? "")).code).toBe(0);
  // What is about people is done in one's own name: there a slug is one of the person's.
  const people = await floe(["members", "list", "--org", own?.slug ?? ""], { env: { ...env, FLOE_API_KEY: key } });
  expect(people.code).toBe(0);
});

test("a key made here opens what its scopes say, until it is revoked", async () => {
  const { id, key } = await json<{ id: string; key: string }>(
    "api-keys",
    "create",
    "ci",
    "--scopes",
    "products:read",
    "--expires-in",
    "1d",
  );
  const withKey = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: join(folder(), "floe"), FLOE_API_KEY: key };
  expect((await floe(["products", "list"], { env: withKey })).code).toBe(0);
  expect((await floe(["orders", "list"], { env: withKey })).code).toBe(5);
  expect((await floe(["whoami"], { env: withKey })).code).toBe(0);
  expect((await floe(["products", "create", "--name", "Pro", "--price", "1.00"], { env: withKey })).code).toBe(5);
  expect((await json<{ id: string }[]>("api-keys", "list", "--json", "id")).map((one) => one.id)).toContain(id);
  expect((await floe(["api-keys", "revoke", id, "--yes"], { env })).code).toBe(0);
  expect((await floe(["products", "list"], { env: withKey })).code).toBe(4);
});

test("an organization is made, used and left", async () => {
  await floe(["orgs", "create", "Second Shop", "--slug", `second-${seller.user_id}`], { env });
  expect(await json("products", "list")).toEqual([]);
  const first = (await json<{ id: string; slug: string }[]>("orgs", "list")).find(
    ({ id }) => id === seller.organization_id,
  );
  expect((await json<unknown[]>("products", "list", "--org", first?.slug ?? "")).length).toBeGreaterThan(0);
});

test("an idempotency key makes one of two", async () => {
  const argv = [
    "customers",
    "create",
    "--email",
    "once@example.com",
    "--idempotency-key",
    "floe-cli-test-1",
    "--json",
    "id",
  ];
  expect(await json(...argv)).toEqual(await json(...argv));
});

test("what the server refuses names the flag, and what is not there is exit 6", async () => {
  const short = await floe(["products", "create", "--name", "P", "--price", "19.00"], { env });
  expect([short.code, short.err]).toEqual([1, expect.stringContaining("--name: ")]);
  const cheap = await floe(["products", "create", "--name", "Pro", "--price", "0.01"], { env });
  expect([cheap.code, cheap.err]).toEqual([1, expect.stringContaining("--price")]);
  expect((await floe(["products", "get", crypto.randomUUID()], { env })).code).toBe(6);
});

test("after logout the token is good for nothing", async () => {
  const { io } = await floe(["logout"], { env });
  expect(io.env.FLOE_SERVER).toBe(server.url);
  expect((await floe(["products", "list"], { env })).code).toBe(4);
});
