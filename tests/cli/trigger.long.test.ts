import { afterAll, beforeAll, expect, test } from "vitest";
import { handScopes } from "../../cli/command-scopes.ts";
import { recipes } from "../../cli/trigger/recipes.ts";
import { type EventType, eventTypes } from "../../shared/event-types.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { floe } from "./support.ts";

let server: Floe;
let live: Seller;
let receiver: Receiver;
let env: Record<string, string>;
beforeAll(async () => {
  server = await start({ listen: true, worker: true, development: true });
  receiver = await startReceiver();
  live = await server.seller("ada");
  const slug = `sandbox-${newId().slice(-12)}`;
  const body = { name: "Sandbox", slug, sandbox: true };
  const { id } = await server.client(live.session).organizations.create({ body });
  const sandbox = { ...live, organization_id: id };
  await server.client(await server.keyOf(sandbox, undefined as never)).webhooks.createEndpoint({
    body: { url: receiver.url, events: [...eventTypes], api_version: "2027-01" },
  });
  // What the command says that it needs, and what shows the secret of a checkout in its event.
  const { scopes, needs = [] } = handScopes.trigger ?? { scopes: [] };
  const key = await server.keyOf(sandbox, [...scopes, ...needs, "webhooks:write"]);
  env = { FLOE_SERVER: server.url, FLOE_API_KEY: key };
});
afterAll(async () => {
  await server?.close();
  await receiver?.close();
});

const trigger = async (...argv: string[]) => {
  const { code, out, err } = await floe(["trigger", ...argv], { env });
  expect([code, err.replaceAll(/^Moving.*\n/gm, "")], argv.join(" ")).toEqual([0, ""]);
  return JSON.parse(out) as {
    id: string;
    event: string;
    made: { kind: string; id: string }[];
    delivery: { succeeded: boolean };
    payload: { type: string; data: Record<string, never> };
  };
};

const sent = Object.keys(recipes) as EventType[];
test("every event type has a recipe, but the one that floe never sends", () => {
  expect(eventTypes.filter((type) => !sent.includes(type))).toEqual(["subscription.migrated"]);
});

test.each(sent)("%s happens, is about what was made, and is delivered", async (event) => {
  const { id, payload, made, delivery } = await trigger(event, "--endpoint", receiver.url);
  expect([payload.type, delivery]).toMatchObject([event, { succeeded: true, http_code: 200 }]);
  expect(event === "organization.updated" || made.some((one) => JSON.stringify(payload).includes(one.id))).toBe(true);
  expect(
    receiver.received.some(({ body, json }) => json.type === event && body.includes(JSON.stringify(payload.data))),
  ).toBe(true);
  expect(id).toEqual(expect.any(String));
});

test("values of the event are overridden, and one that follows from others is refused", async () => {
  const email = `${newId()}@example.com`;
  const { payload } = await trigger(
    "order.paid",
    ...["--override", `data.customer.email=${email}`, "--override", "data.product.name=Book"],
  );
  expect(payload.data).toMatchObject({ customer: { email }, product: { name: "Book" } });
  const customer = await trigger(
    "customer.updated",
    "--override",
    "data.metadata.plan=gold",
    "--override",
    "data.name=Ada",
  );
  expect(customer.payload.data).toMatchObject({ metadata: { plan: "gold" }, name: "Ada" });
  const { code, err } = await floe(["trigger", "order.paid", "--override", "data.invoice_number=7"], { env });
  expect([code, err]).toEqual([1, expect.stringContaining("the event has another value at data.invoice_number")]);
});

test("an organization that is no sandbox is refused, and nothing is made there", async () => {
  const { code, err } = await floe(["trigger", "customer.created"], { env: { ...env, FLOE_API_KEY: live.key } });
  expect([code, err]).toEqual([1, expect.stringContaining("not a sandbox")]);
  expect((await live.client.customers.list({ query: {} })).items).toEqual([]);
});
