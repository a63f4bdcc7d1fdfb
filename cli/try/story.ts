/** What `floe try` does at its server: a store, a product with a license key, a purchase, a webhook and a portal link. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text as readText } from "node:stream/consumers";
import * as routes from "../../shared/routes.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import { request } from "../request.ts";
import { confirmCheckout, createObjects } from "../trigger/objects.ts";

type Row = Record<string, unknown> & { id: string };
export type Store = { id: string; slug: string; name: string; token: string; key: string };
export type Story = { product: string; order: string; license_key: string; webhook: string; portal: string };

/** Sign in as the owner of the new server, and open a sandbox with a key. */
export async function openStore(context: Context, owner: { email: string; password: string }): Promise<Store> {
  const post = async (path: string, body: object, token?: string): Promise<Row> => {
    const auth = token === undefined ? { auth: false } : { token };
    return (await context.call({ method: "POST", path, body, organization: false, ...auth })) as Row;
  };
  const { email, password } = owner;
  const token = String((await post("/api/auth/sign-in/email", { email, password })).token);
  const body = { name: "Try Store", slug: "try", sandbox: true };
  const { id, slug, name } = await request(
    context,
    routes.organizations.create,
    { body },
    { organization: false, token },
  );
  const { key } = await post("/api/auth/api-key/create", { name: "floe try", organizationId: id }, token);
  return { id, slug, name, token, key: String(key) };
}

const webhookMsMax = 20_000;

/** A receiver on this machine that verifies the signature of what comes. Answers the type of the first event that is genuine. */
async function openReceiver() {
  const { createHmac, timingSafeEqual } = process.getBuiltinModule("node:crypto");
  let secret = "";
  let accept: (type: string) => void = () => undefined;
  const verified = new Promise<string>((resolve) => {
    accept = resolve;
  });
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await readText(request);
    const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = request.headers;
    const own = createHmac("sha256", secret).update(`${id}.${timestamp}.${body}`).digest("base64");
    const [given, expected] = [Buffer.from(String(signature)), Buffer.from(`v1,${own}`)];
    const isGenuine = given.length === expected.length && timingSafeEqual(given, expected);
    response.writeHead(isGenuine ? 200 : 401).end();
    if (isGenuine) accept((JSON.parse(body) as { type: string }).type);
  };
  const server = createServer((request, response) => {
    respond(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    verified,
    setSecret: (text: string): void => {
      secret = text;
    },
    close: (): void => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Sell a license key once, and see everything that follows. `note` is called after each step. */
export async function runStory(context: Context, store: Store, note: (step: string) => void): Promise<Story> {
  const objects = createObjects(context, store.id, "checkout", []);
  const receiver = await openReceiver();
  try {
    const events = ["order.paid"];
    const endpoint = await objects.call(routes.webhooks.createEndpoint, { body: { url: receiver.url, events } });
    receiver.setSecret(String(endpoint.secret));
    const properties = { prefix: "TRY", activations: { limit: 3, enable_customer_admin: true } };
    const benefit = await objects.createBenefit({ type: "license_keys", description: "License key", properties });
    const product = await objects.createProduct({ name: "Night Sky Sounds" });
    await objects.call(routes.products.setBenefits, { params: { id: product.id }, body: { benefits: [benefit.id] } });
    note("Product   Night Sky Sounds, $19.00, with a license key");
    const customer = await objects.createCustomer({ email: "buyer@example.com", name: "Buyer" });
    const { id, client_secret } = await objects.createCheckout(product, customer);
    await confirmCheckout(objects, client_secret, "Buyer", "pm_card_visa");
    const order = await objects.await("The order", async () => {
      const [made] = await objects.list(routes.orders.list, { query: { checkout_id: id } });
      return made?.status === "paid" ? made : undefined;
    });
    note(`Order     ${String(order.invoice_number)}, paid with the test card 4242 4242 4242 4242`);
    const { id: keyId } = await objects.await(
      "The license key",
      async () => (await objects.list(routes.licenseKeys.list, { query: { benefit_id: benefit.id } }))[0],
    );
    const license = await objects.call(routes.licenseKeys.get, { params: { id: keyId } });
    note(`License   ${String(license.key)}`);
    const webhook = await awaitWebhook(receiver.verified);
    note(`Webhook   ${webhook}, signature verified`);
    // The receiver ends with this command, so nothing is sent to it any more.
    await objects.call(routes.webhooks.deleteEndpoint, { params: { id: endpoint.id } });
    const session = await objects.call(routes.customerSessions.create, { body: { customer_id: customer.id } });
    const portal = String(session.customer_portal_url);
    note(`Portal    ${portal}`);
    return {
      product: product.id,
      order: String(order.invoice_number),
      license_key: String(license.key),
      webhook,
      portal,
    };
  } finally {
    receiver.close();
  }
}

async function awaitWebhook(verified: Promise<string>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Fault("error", "no webhook came within 20 s")), webhookMsMax);
  });
  return Promise.race([verified, late]).finally(() => clearTimeout(timer));
}
