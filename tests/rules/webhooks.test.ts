import { createServer, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { webhooks as webhooks1 } from "@polar-sh/sdk/2026-10";
import { validateEvent as validate38 } from "polar-sdk-0.38/webhooks.js";
import { validateEvent as validate49 } from "polar-sdk-0.49/webhooks.js";
import { Webhook } from "standardwebhooks";
import { afterEach, describe, expect, test, vi } from "vitest";
import { isQuiet, writeChatBody } from "../../server/messaging/webhooks/messages.ts";
import * as rules from "../../server/messaging/webhooks/rules.ts";
import { toUnixSeconds } from "../../server/platform/clock.ts";
import { isPublicAddress } from "../../server/platform/external/network-addresses.ts";
import {
  checkAddress,
  findReach,
  findRefusal,
  type OutboundPolicy,
  type OutboundReply,
  openLine,
  replyLengthMax,
} from "../../server/platform/external/outbound.ts";
import { getVersionedProfile, legacyProfile } from "../../server/platform/http/profiles.ts";
import { eventTypes } from "../../shared/event-types.ts";

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});
async function receiver(answer: Parameters<typeof createServer>[1]): Promise<string> {
  const server = createServer(answer as never);
  open.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
}
const answering =
  (...addresses: string[]): LookupFunction =>
  (_host, options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (options.all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
/** One call, on a connection of its own. */
async function post(
  url: string,
  headers: Record<string, string>,
  body: string,
  reach: OutboundPolicy,
): Promise<OutboundReply> {
  const line = openLine(url, reach);
  try {
    return await line.post(headers, body);
  } finally {
    line.close();
  }
}
const away = { private_allowed: false };
const home = { private_allowed: true };
const none = { ranges: [], hosts: [] };

describe("where webhooks may be sent (WHK-01)", () => {
  const refused = [
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0177.0.0.1",
    "017700000001",
    "127.0.0.1.",
    "10.1.2.3",
    "10.0.0.0",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
    "168.63.129.16",
    "100.64.0.1",
    "0.0.0.0",
    "255.255.255.255",
    "224.0.0.1",
    "240.0.0.1",
    "198.18.0.1",
    "192.0.2.1",
    "[::1]",
    "[::]",
    "[fd00::1]",
    "[fe80::1]",
    "[ff02::1]",
    "[::ffff:10.0.0.1]",
    "[::ffff:a00:1]",
    "[::7f00:1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::]",
    "[2001::1]",
    "[2001:db8::1]",
    "[fec0::1]",
    "[fd00:ec2::254]",
    "localhost",
    "LOCALHOST",
    "localhost.",
    "api.localhost",
    "printer",
    "printer.local",
    "metadata.google.internal",
  ];
  test.each(refused)("https://%s is refused", async (host) => {
    const refusal = findRefusal(`https://${host}/hook`, away);
    expect(refusal).toMatch(/^The address must /);
    expect(await checkAddress(`https://${host}:8443/hook`, away)).toBe(refusal);
    // Nothing was tried: what cannot be reached has no code either, but another text.
    expect(await post(`https://${host}/hook`, {}, "{}", away)).toEqual({ http_code: null, text: refusal });
  });
  test.each(["8.8.8.8", "[2606:4700::1111]", "example.com", "hooks.example.com."])("https://%s is allowed", (host) => {
    expect(findRefusal(`https://${host}/hook`, away)).toBeUndefined();
  });
  test.each([
    "http://example.com/",
    "ftp://example.com/",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "example.com",
    "",
    "https://",
  ])("%s is no address for a webhook", (text) => expect(findRefusal(text, away)).toBeTypeOf("string"));
  test("ports of the web and unprivileged ones are called, those of databases, caches, queues and mail only where allowed", async () => {
    const at = (port: number) => `https://example.com:${port}/hook`;
    for (const port of [80, 443, 1024, 3000, 8080, 8443, 65_535]) expect(findRefusal(at(port), away)).toBeUndefined();
    for (const port of [1, 22, 25, 110, 465, 587, 993, 1023, 1433, 2525, 3306, 5432, 6379, 9200, 11_211, 27_017]) {
      expect(findRefusal(at(port), away), `${port}`).toMatch(/^Port \d+ may not be called/);
      expect((await post(at(port), {}, "{}", away)).text).toMatch(/^Port /);
      const reach = findReach({ development: false, FLOE_WEBHOOK_ALLOW: none, FLOE_WEBHOOK_PORTS: [port] });
      expect(findRefusal(at(port), reach)).toBeUndefined();
    }
    expect(findRefusal("http://localhost:6379/hook", home)).toBeUndefined();
  });
  test("only a server on a developer's own machine calls that machine", () => {
    expect(findReach({ development: true, FLOE_WEBHOOK_ALLOW: none, FLOE_WEBHOOK_PORTS: [] }).private_allowed).toBe(
      true,
    );
    expect(findReach({ development: false, FLOE_WEBHOOK_ALLOW: none, FLOE_WEBHOOK_PORTS: [] }).private_allowed).toBe(
      false,
    );
    expect(findRefusal("http://localhost:3000/hook", home)).toBeUndefined();
    expect(findRefusal("ftp://localhost/", home)).toBeTypeOf("string");
  });
  test.each([
    ["127.0.0.1"],
    ["10.0.0.1"],
    ["169.254.169.254"],
    ["::1"],
    ["fd00::1"],
    ["::ffff:10.0.0.1"],
    ["8.8.8.8", "192.168.0.1"],
    [],
  ])("a name that leads to %s is refused, at creation and at the socket", async (...addresses) => {
    const reach = { ...away, lookup: answering(...addresses) };
    expect(await checkAddress("https://innocent.example.com/hook", reach)).toContain("public internet");
    const reply = await post("https://innocent.example.com/hook", {}, "{}", reach);
    expect(reply).toEqual({ http_code: null, text: expect.stringContaining("public internet") });
  });
  test("a name whose answer changes after the check is refused at the socket", async () => {
    let asked = 0;
    const lookup: LookupFunction = (host, options, callback) => {
      asked += 1;
      answering(asked === 1 ? "8.8.8.8" : "127.0.0.1")(host, options, callback);
    };
    expect(await checkAddress("https://rebinding.example.com/hook", { ...away, lookup })).toBeUndefined();
    expect(await post("https://rebinding.example.com/hook", {}, "{}", { ...away, lookup })).toMatchObject({
      http_code: null,
    });
    expect(asked).toBe(2);
  });
  test("a name that cannot be resolved now may be saved, and fails when sent", async () => {
    const lookup: LookupFunction = (_host, _options, callback) =>
      callback(Object.assign(new Error("no such host"), { code: "ENOTFOUND" }), "", 0);
    expect(await checkAddress("https://later.example.com/hook", { ...away, lookup })).toBeUndefined();
    expect(await post("https://later.example.com/", {}, "{}", { ...away, lookup })).toEqual({
      http_code: null,
      text: "no such host",
    });
  });
  test("what is not an address is not public", () => expect(isPublicAddress("example.com")).toBe(false));
});

describe("one call (WHK-09, WHK-11)", () => {
  test("the body arrives whole, and the answer's status and text come back", async () => {
    const body = JSON.stringify({ text: "ä€😀".repeat(1000) });
    let got: { method?: string; body: string; length: unknown } | undefined;
    const url = await receiver((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        got = {
          method: request.method ?? "",
          body: Buffer.concat(chunks).toString(),
          length: request.headers["content-length"],
        };
        response.writeHead(202).end("thanks\0!");
      });
    });
    expect(await post(url, { "content-type": "application/json" }, body, home)).toEqual({
      http_code: 202,
      text: "thanks!",
    });
    expect(got).toEqual({ method: "POST", body, length: String(Buffer.byteLength(body)) });
  });
  test("a connection is not used again: another call may have been allowed more", async () => {
    const url = await receiver((_request, response) => void response.end("noted"));
    let connections = 0;
    open.at(-1)?.on("connection", () => {
      connections += 1;
    });
    for (let call = 1; call <= 2; call++) {
      expect((await post(url, {}, "{}", home)).http_code).toBe(200);
      expect(connections).toBe(call);
    }
  });
  test("calls of a line share a connection, and go on by another where the receiver has closed it meanwhile", async () => {
    let isClosing = false;
    const sockets = new Set<unknown>();
    const url = await receiver((request, response) => {
      // Closed without a word as the next call arrives, as by a server that has waited for long enough.
      if (isClosing && sockets.has(request.socket)) return void request.socket.resetAndDestroy();
      sockets.add(request.socket);
      request.resume().on("end", () => void response.end("noted"));
    });
    const line = openLine(url, home);
    const call = async () => (await line.post({}, "{}")).http_code;
    expect([await call(), await call(), await call()]).toEqual([200, 200, 200]);
    expect(sockets.size).toBe(1);
    isClosing = true;
    expect([await call(), await call()]).toEqual([200, 200]);
    expect(sockets.size).toBe(3);
    line.close();
  });
  test("a redirect is an answer, not followed, also not to a private address", async () => {
    let calls = 0;
    const inner = await receiver((_request, response) => {
      calls += 1;
      response.end("secret");
    });
    const url = await receiver((_request, response) => void response.writeHead(302, { location: inner }).end());
    expect(await post(url, {}, "{}", home)).toEqual({ http_code: 302, text: "" });
    expect(calls).toBe(0);
  });
  test("of an endless answer 2048 characters are read, without NULs", async () => {
    const url = await receiver((_request, response) => {
      response.writeHead(500);
      const more = setInterval(() => response.write("x\0".repeat(50_000)), 5);
      response.once("close", () => clearInterval(more));
    });
    const reply = await post(url, {}, "{}", home);
    expect(reply.http_code).toBe(500);
    expect(reply.text).toBe("x".repeat(replyLengthMax));
  });
  test("a receiver that is not there has no code", async () => {
    const url = await receiver(() => {});
    open.splice(0).forEach((server) => void server.close());
    expect(await post(url, {}, "{}", home)).toEqual({ http_code: null, text: expect.stringContaining("ECONNREFUSED") });
  });
  test("a receiver that says nothing is given up after 10 seconds", async () => {
    const url = await receiver((_request, response) => void response.writeHead(200).write("so far so good"));
    // Its ten seconds are over in a tenth of one.
    const { timeout } = AbortSignal;
    const over = vi.spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout.call(AbortSignal, ms / 100));
    try {
      expect(await post(url, {}, "{}", home)).toEqual({ http_code: null, text: "No answer within 10 seconds." });
      expect(over.mock.calls).toEqual([[10_000]]);
    } finally {
      over.mockRestore();
    }
  });
  test("TLS that cannot be trusted is a failure without a code", async () => {
    const url = (await receiver((_request, response) => void response.end())).replace("http:", "https:");
    expect(await post(url, {}, "{}", home)).toMatchObject({ http_code: null });
  });
});

describe("signature", () => {
  test("of the published example is the one over the bytes of the whole secret (WHK-08)", () => {
    // printf %s '1.1700000000.{}' | openssl dgst -sha256 -hmac 'polar_whs_test' -binary | base64
    expect(rules.sign("polar_whs_test", "1", 1_700_000_000, "{}")).toBe(
      "v1,P0f21HsxZU3ioyPgPVD8IoDYtAo6igiwBVmcOHLYpVY=",
    );
  });
  test.each([
    "polar_whs_abcdefghijklmnopqrstuvwxyz0123456789abcdef",
    "whsec_own+secret/with=signs of thirty-two",
    "ü".repeat(32),
  ])("passes the Standard Webhooks library and each official SDK: %s (WHK-07)", async (secret) => {
    await expectAccepted(secret, [secret]);
    // During a rotation, receivers check with either secret (WHK-47).
    await expectAccepted(secret, [secret, "polar_whs_the_secret_before_it"]);
    await expectAccepted(secret, ["polar_whs_the_secret_after_it", secret]);
  });
  async function expectAccepted(secret: string, secrets: readonly string[]): Promise<void> {
    const now = toUnixSeconds(new Date());
    const data = { id: "3fa85f64-5717-4562-b3fc-2c963f66afa6" };
    const body = JSON.stringify({ type: "made.up", timestamp: new Date().toISOString(), data });
    const headers = rules.buildHeaders(secrets, "event-1", now, body);
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["user-agent"]).toBe("floe webhooks");
    const base64 = Buffer.from(secret, "utf8").toString("base64");
    expect(new Webhook(base64).verify(body, headers)).toMatchObject({ type: "made.up" });
    // The type is none of theirs, so each refuses it, but only after the signature was found good.
    expect(() => validate38(body, headers, secret)).toThrow(/Unknown event type/);
    expect(() => validate49(body, headers, secret)).toThrow(/Unknown event type/);
    await expect(webhooks1.validateEvent(body, headers, secret)).rejects.toBeInstanceOf(
      webhooks1.PolarWebhookUnknownTypeError,
    );
    const forged = { ...headers, "webhook-signature": rules.sign(`${secret}x`, "event-1", now, body) };
    expect(() => validate38(body, forged, secret)).toThrow(/signature/i);
    expect(() => validate49(body, forged, secret)).toThrow(/signature/i);
    await expect(webhooks1.validateEvent(body, forged, secret)).rejects.toBeInstanceOf(
      webhooks1.PolarWebhookVerificationError,
    );
  }
});

describe("attempts", () => {
  const now = new Date("2026-06-01T12:00:00Z");
  const hoursAgo = (hours: number) => new Date(now.getTime() - hours * 3_600_000);
  const plan = (event: { attempts: number; succeeded: boolean | null; attempted_at?: Date }, code: number | null) =>
    rules.planOutcome({ attempted_at: null, created_at: now, ...event }, code, now);
  test("have doubling pauses between half and whole, at most 20 minutes, later four hours (WHK-10)", () => {
    expect([1, 2, 3, 9, 10, 11, 13, 30].map((n) => rules.retryDelay(n))).toEqual([
      { least_ms: 2000, most_ms: 4000 },
      { least_ms: 4000, most_ms: 8000 },
      { least_ms: 8000, most_ms: 16_000 },
      { least_ms: 512_000, most_ms: 1_024_000 },
      { least_ms: 1_024_000, most_ms: 2_048_000 },
      { least_ms: 2_048_000, most_ms: 4_096_000 },
      { least_ms: 7_200_000, most_ms: 14_400_000 },
      { least_ms: 7_200_000, most_ms: 14_400_000 },
    ]);
  });
  test("go on for 72 hours, and are at least ten (WHK-10)", () => {
    const retry = rules.retryDelay(10);
    expect(plan({ attempts: 9, succeeded: null, attempted_at: hoursAgo(1) }, 500)).toMatchObject({ retry });
    expect(plan({ attempts: 8, succeeded: null, attempted_at: hoursAgo(100) }, 500)).toMatchObject({
      succeeded: null,
      retry: rules.retryDelay(9),
    });
    expect(plan({ attempts: 30, succeeded: null, attempted_at: hoursAgo(67) }, 500).retry).not.toBeNull();
    const over = { attempts: 31, succeeded: false, retry: null };
    expect(plan({ attempts: 30, succeeded: null, attempted_at: hoursAgo(69) }, 500)).toMatchObject(over);
  });
  test.each([
    [199, false],
    [200, true],
    [204, true],
    [299, true],
    [301, false],
    [304, false],
    [400, false],
    [429, false],
    [503, false],
    [null, false],
  ])("an answer of %s is delivered: %s (WHK-09, WHK-22)", (code, delivered) => {
    const outcome = plan({ attempts: 0, succeeded: null }, code);
    expect(outcome).toMatchObject({ delivered, succeeded: delivered ? true : null });
    expect(outcome.retry === null).toBe(delivered);
  });
  test("a failed redelivery takes no success back (WHK-17)", () => {
    const old = { attempts: 9, attempted_at: hoursAgo(72) };
    expect(plan({ attempts: 0, succeeded: true }, 500)).toMatchObject({ succeeded: true, delivered: false });
    expect(plan({ ...old, succeeded: true }, 500)).toMatchObject({ succeeded: true, retry: null });
    expect(plan({ ...old, succeeded: false }, 500)).toMatchObject({ succeeded: false });
    expect(plan({ attempts: 3, succeeded: false }, 200)).toMatchObject({ succeeded: true });
  });
  test("happen only at an endpoint whose turn has come, that is there, on and not paused (WHK-12, WHK-15, WHK-44)", () => {
    const now = new Date("2026-06-01T12:00:00Z");
    const later = new Date("2026-06-01T12:00:01Z");
    const due = { due_at: now, enabled: true, deleted_at: null, paused_until: null };
    expect(rules.planTurn(due, now)).toEqual({ is: "take" });
    expect(rules.planTurn({ ...due, due_at: later }, now)).toEqual({ is: "nothing" });
    expect(rules.planTurn({ ...due, due_at: null }, now)).toEqual({ is: "nothing" });
    expect(rules.planTurn({ ...due, paused_until: later }, now)).toEqual({ is: "postpone", due_at: later });
    expect(rules.planTurn({ ...due, paused_until: now }, now)).toEqual({ is: "take" });
    expect(rules.planTurn({ ...due, enabled: false }, now)).toEqual({ is: "postpone", due_at: null });
    expect(rules.planTurn({ ...due, deleted_at: now }, now)).toEqual({ is: "postpone", due_at: null });
  });
  test("go on at the same address, while the endpoint is there and on", () => {
    const there = { enabled: true, deleted_at: null, url: "https://a.example/" };
    expect(rules.canGoOn(there, there.url)).toBe(true);
    expect(rules.canGoOn(there, "https://b.example/")).toBe(false);
    expect(rules.canGoOn({ ...there, enabled: false }, there.url)).toBe(false);
    expect(rules.canGoOn({ ...there, deleted_at: new Date() }, there.url)).toBe(false);
  });
  test.each([
    [{ id: "o1" }, "o1"],
    [{ id: 1 }, null],
    [{ number: 1 }, null],
    [null, null],
    ["text", null],
  ])("keep the order of the object that %j tells of: %s (WHK-13)", (data, id) =>
    expect(rules.getObjectId(data)).toBe(id),
  );
  test.each<[number | null, boolean]>([
    [null, false],
    [199, false],
    [200, true],
    [299, true],
    [300, false],
  ])("are delivered by a code of 2xx alone: %s is %s (WHK-11)", (code, delivered) =>
    expect(rules.isDelivered(code)).toBe(delivered),
  );
  test("of ten events in a row that failed for good switch an endpoint off; nine and one success do not (WHK-14)", () => {
    const failed = Array<boolean | null>(10).fill(false);
    expect(rules.isExhausted(failed)).toBe(true);
    expect(rules.isExhausted(failed.slice(1))).toBe(false);
    expect(rules.isExhausted([...failed.slice(1), true])).toBe(false);
    expect(rules.isExhausted([...failed, true])).toBe(true);
  });
});

describe("what an endpoint is sent", () => {
  const versioned = getVersionedProfile("2027-01");
  test("are the types its client can read (contract 1.2)", () => {
    expect(rules.selectKnown({ generation: "legacy" }, eventTypes)).toHaveLength(27);
    expect(rules.selectKnown({ generation: "open" }, eventTypes)).toHaveLength(35);
    expect(rules.selectKnown({ generation: "versioned" }, eventTypes)).toHaveLength(42);
    expect(rules.supportsEvent({ generation: "legacy" }, "checkout.expired")).toBe(false);
    expect(rules.supportsEvent({ generation: "open" }, "subscription.cycled")).toBe(false);
    expect(rules.supportsEvent({ generation: "versioned" }, "made.up")).toBe(false);
  });
  test("is type, time and the object in the client's own words (WHK-06, WHK-23)", () => {
    const created_at = new Date("2026-06-01T12:00:00.123Z");
    const data = {
      id: "1",
      billing_reason: "subscription_meter_cycle",
      metadata: { billing_reason: "subscription_meter_cycle" },
    };
    expect(rules.writeRawBody(versioned, { type: "order.paid", created_at, data })).toBe(
      `{"type":"order.paid","timestamp":"2026-06-01T12:00:00.123Z","api_version":"2027-01","data":${JSON.stringify(data)}}`,
    );
    expect(JSON.parse(rules.writeRawBody(legacyProfile, { type: "order.paid", created_at, data })).data).toEqual({
      ...data,
      billing_reason: "subscription_cycle",
    });
  });
});

describe("chat formats (WHK-21)", () => {
  const created_at = new Date("2026-06-01T12:00:00Z");
  const order = {
    id: "3fa85f64-5717-4562-b3fc-2c963f66afa6",
    total_amount: 1900,
    currency: "usd",
    status: "paid",
    product: { name: "<@everyone> Pro & Co" },
    customer: { email: "ada@example.com" },
    invoice_number: "F-0001",
  };
  test("an order says product, amount and customer", () => {
    const discord = JSON.parse(writeChatBody("discord", { type: "order.paid", created_at, data: order }, "Acme"));
    expect(discord.content).toBe("Order paid in Acme: <@everyone> Pro & Co, $19.00");
    expect(discord.allowed_mentions).toEqual({ parse: [] });
    expect(discord.embeds[0]).toMatchObject({ title: "Order paid", color: expect.any(Number) });
    expect(discord.embeds[0].fields).toContainEqual({ name: "Amount", value: "$19.00", inline: true });
    const slack = JSON.parse(writeChatBody("slack", { type: "order.paid", created_at, data: order }, "Acme"));
    expect(slack.text).toBe("Order paid in Acme: &lt;@everyone&gt; Pro &amp; Co, $19.00");
    expect(slack.blocks[1].fields).toContainEqual({ type: "mrkdwn", text: "*Customer*\nada@example.com" });
  });
  test("anything else says its type, its object and the organization", () => {
    const text = writeChatBody("slack", { type: "product.created", created_at, data: { id: "p1" } }, "Acme");
    expect(JSON.parse(text)).toMatchObject({
      text: "product.created in Acme",
      blocks: [{}, { fields: [{ text: "*Object*\np1" }] }],
    });
  });
  test.each([
    [{ status: "active", ends_at: null, ended_at: null }, true],
    [{ status: "past_due", ends_at: null, ended_at: null }, false],
    [{ status: "active", ends_at: "2026-07-01T00:00:00Z", ended_at: null }, false],
    [{ status: "canceled", ends_at: null, ended_at: "2026-06-01T00:00:00Z" }, false],
  ])("subscription.updated of %o is left out: %s", (data, quiet) => {
    expect(isQuiet({ type: "subscription.updated", created_at, data })).toBe(quiet);
    expect(isQuiet({ type: "subscription.canceled", created_at, data })).toBe(false);
  });
});
