import { PassThrough } from "node:stream";
import Fastify from "fastify";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { openDeliveryWatch } from "../../server/checkout/checkouts/deliveries.ts";
import { routeCheckoutStream } from "../../server/checkout/checkouts/stream.ts";
import { openTail } from "../../server/platform/events/tail.ts";
import { parseRequests } from "../../server/platform/http/parsing.ts";
import { limitPage, openStreamLimits } from "../../server/platform/http/stream-limits.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { type Receiver, startReceiver } from "../support/receiver.ts";
import { type Message, openStream, type Stream } from "../support/sse.ts";
import { watchStatements } from "../support/statements.ts";

let floe: Floe;
let seller: Seller;
let receiver: Receiver;
const streams: Stream[] = [];
beforeAll(async () => {
  floe = await start({ listen: true });
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const stream of streams.splice(0)) stream.close();
  await receiver.close();
});

type Checkout = { id: string; client_secret: string; products: { id: string }[] };
async function checkout(): Promise<Checkout> {
  const price = { amount_type: "fixed" as const, price_amount: 1900, price_currency: "usd" as const };
  const product = await seller.client.products.create({ body: { name: "Ebook", prices: [price] } });
  const made = await seller.client.checkouts.create({ body: { products: [product.id] } });
  await floe.runJobs();
  return made;
}
async function pay({ client_secret }: Checkout): Promise<void> {
  const body = {
    confirmation_token_id: "pm_card_visa",
    customer_email: "ada@example.com",
    customer_name: "Ada",
    customer_billing_address: { country: "FR" as const },
  };
  await floe.client().checkoutClient.confirm({ params: { client_secret }, body });
  await floe.runJobs();
}
const endpoint = (format: "raw" | "slack") =>
  seller.client.webhooks.createEndpoint({ body: { url: receiver.url, format, events: ["checkout.updated"] } });

async function watch({ client_secret }: Checkout, headers: Record<string, string> = {}): Promise<Stream> {
  const stream = await openStream(`${floe.url}/v1/checkouts/client/${client_secret}/stream`, headers);
  streams.push(stream);
  return stream;
}
type News = { id: string; key: string; payload: { status?: string } };
const said = (messages: Message[]): string[] =>
  messages.map(({ data }) => {
    const { key, payload } = data as News;
    return payload.status === undefined ? key : `${key} ${payload.status}`;
  });

const told = "checkout.webhook_event_delivered succeeded";
/** What is said until the page hears this. */
const saidTo = async (stream: Stream, last = told): Promise<string[]> =>
  said(await stream.to((message) => said([message])[0] === last));

describe("the stream of a checkout (CHK-60, CHK-61)", () => {
  test("says at once how the checkout stands, to any page", async () => {
    const stream = await watch(await checkout(), { origin: "https://shop.example.com" });
    expect(stream.status).toBe(200);
    expect(stream.headers["content-type"]).toContain("text/event-stream");
    expect(stream.headers["access-control-allow-origin"]).toBe("*");
    const { data } = await stream.next();
    expect(data).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: "checkout.updated",
      payload: { status: "open" },
    });
  });

  test("tells order, success and, as no endpoint listens, that the seller was told", async () => {
    const sale = await checkout();
    const another = await checkout();
    const [stream, other] = [await watch(sale), await watch(another)];
    await pay(sale);
    const news = await saidTo(stream);
    expect(news[0]).toBe("checkout.updated open");
    const inOrder = ["checkout.updated confirmed", "checkout.order_created", "checkout.updated succeeded", told];
    expect(news.filter((one) => inOrder.includes(one))).toEqual(inOrder);
    // Another checkout of the same seller hears nothing of it: only of its own sale, once.
    await pay(another);
    const others = await saidTo(other);
    expect(others.filter((one) => inOrder.includes(one))).toEqual(inOrder);
  });

  test("says that the seller was told only once an endpoint has taken it (WHK-19)", async () => {
    await endpoint("raw");
    receiver.answer(500);
    const sale = await checkout();
    const stream = await watch(sale);
    await pay(sale);
    const before = await saidTo(stream, "checkout.updated succeeded");
    before.push(...said(await stream.rest(600)));
    expect(before.filter((one) => one.startsWith("checkout.webhook_event_delivered"))).toEqual([]);
    receiver.answer(200);
    floe.clock.advance(10_000);
    await floe.runJobs();
    expect(await saidTo(stream)).toContain(told);
  });

  test("does not wait for a chat channel or an endpoint that is off (WHK-15, WHK-19)", async () => {
    await endpoint("slack");
    const { id } = await endpoint("raw");
    const sale = await checkout();
    receiver.answer(500);
    await seller.client.webhooks.updateEndpoint({ params: { id }, body: { enabled: false } });
    const stream = await watch(sale);
    await pay(sale);
    expect(await saidTo(stream)).toContain(told);
  });

  test("CHK-60: tells that its product has changed, and nothing of other products", async () => {
    const [own, other] = [await checkout(), await checkout()];
    const stream = await watch(own);
    await stream.next();
    const rename = (of: typeof own, name: string) =>
      seller.client.products.update({ params: { id: String(of.products[0]?.id) }, body: { name } });
    await rename(other, "Atlas");
    await rename(own, "Globe");
    await saidTo(stream, "checkout.updated open");
    await rename(other, "Chart");
    await pay(own);
    const news = (await saidTo(stream)).filter((one) => one.startsWith("checkout.updated"));
    // Of the other product nothing was said.
    expect(news).toEqual(["checkout.updated confirmed", "checkout.updated succeeded"]);
  });

  test("tells a late joiner all that matters", async () => {
    const sale = await checkout();
    await pay(sale);
    const news = await saidTo(await watch(sale));
    expect(news).toEqual(["checkout.order_created", "checkout.updated succeeded", told]);
  });

  test("of an unknown secret is 404, of an expired checkout 410, with a bad token 401 (API-25)", async () => {
    const sale = await checkout();
    expect((await watch({ id: "", client_secret: "unknown", products: [] })).status).toBe(404);
    expect((await watch(sale, { authorization: "Bearer made-up" })).status).toBe(401);
    expect((await watch(sale, { authorization: "Bearer undefined" })).status).toBe(200);
    expect((await watch(sale, { authorization: `Bearer ${seller.key}` })).status).toBe(200);
    floe.clock.advance(25 * 60 * 60 * 1000);
    expect((await watch(sale)).status).toBe(410);
  });
});

describe("a stream", () => {
  async function serve(lifetime_ms: number) {
    const app = Fastify();
    const tail = openTail(floe.deps);
    let left = 0;
    app.addHook("onRequest", async (request) => void request.raw.socket.once("close", () => (left += 1)));
    parseRequests(app);
    routeCheckoutStream(app, {
      deps: floe.deps,
      tail,
      identify: async () => ({ kind: "anonymous" }),
      find: async () => ({ id: newId(), status: "open", organization_id: seller.organization_id, products: [] }),
      limitStreams: openStreamLimits(),
      lifetimeMs: lifetime_ms,
    });
    app.addHook("preClose", async () => tail.close());
    const address = await app.listen({ host: "127.0.0.1", port: 0 });
    return { app, url: `${address}/v1/checkouts/client/any/stream`, over: () => left };
  }

  test("is closed after its time with a request to connect again (CHK-60)", async () => {
    const { app, url } = await serve(400);
    const stream = await openStream(url);
    await stream.next();
    expect((await stream.next()).data).toEqual({ type: "reconnect" });
    await stream.ended;
    await app.close();
  });

  test("leaves nothing behind when its reader goes away, and the server can close while readers are there", async () => {
    const { app, url, over } = await serve(600_000);
    const [gone, there] = [await openStream(url), await openStream(url)];
    await gone.next();
    gone.close();
    await there.next();
    await expect.poll(over).toBe(1);
    await app.close();
    await there.ended;
    await expect.poll(over).toBe(2);
  });
});

describe("how many streams there are", () => {
  test("ten of a checkout at once: the next is refused with 429, until one is closed", async () => {
    const watched = await checkout();
    const open = () => fetch(`${floe.url}/v1/checkouts/client/${watched.client_secret}/stream`);
    for (let count = 0; count < 10; count += 1) await watch(watched);
    const refused = await open();
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "10"]);
    expect(await refused.json()).toMatchObject({ error: "TooManyRequests" });
    streams.pop()?.close();
    await expect.poll(async () => (await watch(watched).catch(() => null)) !== null).toBe(true);
  });

  test("a hundred of an address, whatever they are of, and others of another", async () => {
    const limit = openStreamLimits();
    const replies: PassThrough[] = [];
    const open = (ip: string, subject: string) => {
      const raw = new PassThrough();
      limit({ raw } as never, limitPage({ ip } as never, subject));
      replies.push(raw);
    };
    for (let count = 0; count < 100; count += 1) open("2001:db8::1", `checkout:${count}`);
    expect(() => open("2001:db8::2", "checkout:new")).toThrow("Too many streams");
    open("2001:db8:1::1", "checkout:new");
    replies[0]?.destroy();
    await expect.poll(() => attempt(() => open("2001:db8::1", "checkout:new"))).toBe(true);
  });

  test("thirty streams of finished checkouts ask the database no more often than one", async () => {
    await endpoint("raw");
    receiver.answer(500);
    const sales = [await checkout(), await checkout(), await checkout()];
    for (const sale of sales) await pay(sale);
    const countInSecond = async (): Promise<number> => {
      const statements = watchStatements(floe, () => {});
      await new Promise((resolve) => setTimeout(resolve, 1000));
      statements.stop();
      return statements.count();
    };
    const open = (sale: Checkout) => watch(sale).then((stream) => saidTo(stream, "checkout.updated succeeded"));
    await open(sales[0] as Checkout);
    const alone = await countInSecond();
    for (const sale of sales) for (let count = sale === sales[0] ? 1 : 0; count < 10; count += 1) await open(sale);
    expect(alone).toBeGreaterThan(2);
    expect(await countInSecond()).toBeLessThanOrEqual(alone + 3);
  });

  test("whether the seller was told is looked up once for all streams of a checkout", async () => {
    const asked: string[][] = [];
    const watched = openDeliveryWatch(floe.deps.log, async (_, ids) => {
      asked.push([...ids]);
      return asked.length === 3 ? ["told"] : [];
    });
    const leaving = new AbortController();
    const wait = (id: string) => watched.untilTold(seller.organization_id, id, leaving.signal);
    const left = wait("never told");
    await Promise.all(Array.from({ length: 50 }, () => wait("told")));
    const both = ["never told", "told"];
    expect(asked).toEqual([["never told"], both, both]);
    leaving.abort();
    await left;
  });
});

const attempt = (act: () => void): boolean => {
  try {
    act();
    return true;
  } catch {
    return false;
  }
};
