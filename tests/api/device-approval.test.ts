import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { deviceCode } from "../../server/identity/accounts/tables.ts";
import { hashToken } from "../../server/platform/crypto/secrets.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { newAddress } from "../support/accounts.ts";
import { type Browser, devicesOf } from "../support/devices.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let stranger: Seller;
let devices: ReturnType<typeof devicesOf>;
let me: Browser;
let other: Browser;

beforeAll(async () => {
  floe = await start({ settings: { TRUST_PROXY: "127.0.0.1" } });
  devices = devicesOf(floe);
});
afterAll(() => floe.close());
/** New people for each test, because wrong codes are counted by account. */
beforeEach(async () => {
  seller = await floe.seller();
  stranger = await floe.seller("stranger");
  me = await devices.browser(seller);
  other = await devices.browser(stranger);
});

const rowOf = async (user_code: string) =>
  (
    await floe.deps.db
      .select()
      .from(deviceCode)
      .where(eq(deviceCode.userCode, hashToken(floe.deps.config.secret, user_code)))
  )[0];
const unknown = [400, { error: "invalid_request", error_description: "This code is not known." }];
const wrong = (index: number) => `WRNG${String(index).padStart(4, "2").replace(/[01]/g, "X")}`;

describe("the device page is told who asks", () => {
  test("client, scopes, address, program, time and what is left of the code's life", async () => {
    const address = newAddress();
    const asked = await devices.ask({ scope: "products:read  orders:write products:read" }, { address });
    floe.clock.advance(60_000);
    const { status, json, headers } = await devices.look(me, asked.user_code);
    expect([status, headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(json).toEqual({
      user_code: asked.user_code,
      status: "pending",
      client_id: "floe-cli",
      client_name: "floe command line",
      scope: "products:read orders:write",
      ip_address: address,
      place: "another_address",
      agent: "floe command line 0.1 on Linux",
      user_agent: "floe-cli/0.1.0 (Linux)",
      requested_at: new Date(floe.clock.time.getTime() - 60_000).toISOString(),
      expires_in: 1740,
      confirmation_required: false,
    });
  });

  test.each([
    ["203.0.113.7", "203.0.113.7", "same_address"],
    ["203.0.113.7", "203.0.113.8", "another_address"],
    ["::ffff:203.0.113.7", "203.0.113.7", "same_address"],
    ["2001:db8:1:2::7", "2001:db8:1:2::7", "same_address"],
    ["2001:db8:1:2::7", "2001:0db8:1:2:aaaa::9", "same_network"],
    ["2001:db8:1:2::7", "2001:db8:1:3::7", "another_address"],
    ["2001:db8:1:2::7", "203.0.113.7", "another_address"],
    ["127.0.0.1", "::1", "this_computer"],
    ["::1", "127.0.0.1", "this_computer"],
    ["::2", "::1", "same_network"],
  ])("asked from %s, looked at from %s: %s", async (address, browser, place) => {
    const { user_code } = await devices.ask({}, { address });
    expect((await devices.look({ ...me, address: browser }, user_code)).json).toMatchObject({ place });
  });

  test("behind a proxy that nobody said to trust, the place of everybody is unknown, not this computer", async () => {
    const hidden = await start({ settings: { FLOE_URL: "https://pay.example.com" } });
    try {
      const people = devicesOf(hidden);
      const visitor = await people.browser(await hidden.seller());
      const { user_code } = await people.ask();
      expect((await people.look(visitor, user_code)).json).toMatchObject({ place: "unknown" });
    } finally {
      await hidden.close();
    }
  });

  test.each([
    ["floe-cli/12.34.5 (Darwin)", "floe command line 12.34 on macOS"],
    ["floe-cli/1", "floe command line 1"],
    ["floe-cli/1.0 (your own laptop, please approve)", "floe command line 1.0"],
    ["Mozilla/5.0 (Windows NT 10.0) Approve-me/1.0", "another program on Windows"],
    ["", "another program"],
  ])("a program that calls itself %j is %j, and cannot write on the page", async (agent, shown) => {
    const { user_code } = await devices.ask({}, { agent });
    expect((await devices.look(me, user_code)).json).toMatchObject({ agent: shown });
  });

  test("who is not signed in is told nothing, and claims nothing", async () => {
    const { user_code } = await devices.ask();
    const answer = await floe.request("GET", `/api/auth/device?user_code=${user_code}`);
    expect([answer.status, answer.json]).toEqual([401, { error: "unauthorized", error_description: "Sign in first." }]);
    const none = await floe.request("GET", "/api/auth/device?user_code=NOSUCHCD");
    expect([none.status, none.json]).toEqual([answer.status, answer.json]);
    expect(await rowOf(user_code)).toMatchObject({ userId: null, sessionId: null });
  });

  test("another site that leads a browser to the call itself spends none of the person's tries", async () => {
    for (let index = 0; index < 7; index++) {
      const answer = await floe.request("GET", `/api/auth/device?user_code=${wrong(index)}`, {
        token: me.token,
        headers: { "sec-fetch-site": "cross-site", "x-forwarded-for": me.address },
      });
      expect([answer.status, answer.json]).toMatchObject([403, { error: "access_denied" }]);
    }
    expect((await devices.look(me, (await devices.ask()).user_code)).status).toBe(200);
  });
});

describe("a code belongs to the session that opened it", () => {
  test("CVE-2026-45337: any other signed-in person can neither see, approve nor deny it", async () => {
    const { user_code, device_code } = await devices.ask();
    await devices.look(me, user_code);
    const seen = await devices.look(other, user_code);
    expect([seen.status, seen.json]).toEqual(unknown);
    for (const answer of [await devices.approve(other, user_code), await devices.deny(other, user_code)]) {
      expect([answer.status, answer.json]).toEqual([
        403,
        { error: "access_denied", error_description: expect.any(String) },
      ]);
    }
    expect(await rowOf(user_code)).toMatchObject({ status: "pending", userId: seller.user_id });
    expect((await devices.poll(device_code)).json).toMatchObject({ error: "authorization_pending" });
    expect((await devices.approve(me, user_code)).json).toEqual({ success: true });
  });

  test("another session of the same person cannot either", async () => {
    const { user_code } = await devices.ask();
    await devices.look(me, user_code);
    const elsewhere = await devices.browser(seller);
    const seen = await devices.look(elsewhere, user_code);
    expect([seen.status, seen.json]).toEqual(unknown);
    expect((await devices.approve(elsewhere, user_code)).status).toBe(403);
    expect((await devices.deny(elsewhere, user_code)).status).toBe(403);
    expect((await rowOf(user_code))?.status).toBe("pending");
    expect((await devices.look(me, user_code)).json).toMatchObject({ status: "pending", client_id: "floe-cli" });
  });

  test("of several sessions that open it at once, one has it", async () => {
    const { user_code } = await devices.ask();
    const sessions = [me, other, await devices.browser(seller), await devices.browser(stranger)];
    const answers = await Promise.all(sessions.map((who) => devices.look(who, user_code)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 400, 400, 400]);
  });

  test("a code that nobody opened is approved by nobody", async () => {
    const { user_code } = await devices.ask();
    const answer = await devices.approve(me, user_code);
    expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_request" }]);
    expect((await rowOf(user_code))?.status).toBe("pending");
  });

  test("an answer is given once, whatever the other would have been", async () => {
    const { user_code } = await devices.ask();
    await devices.look(me, user_code);
    const answers = await Promise.all([
      ...Array.from({ length: 3 }, () => devices.approve(me, user_code)),
      ...Array.from({ length: 3 }, () => devices.deny(me, user_code)),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
  });

  test("an answer is written in the audit log, with the place of whoever gave it", async () => {
    const { user_code } = await devices.ask({ scope: "products:read" });
    await devices.look(me, user_code);
    await devices.approve(me, user_code);
    const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.user_id, seller.user_id));
    expect(entries.filter(({ action }) => action.startsWith("device."))).toMatchObject([
      {
        action: "device.approved",
        actor_kind: "user",
        ip_address: me.address,
        details: { clientId: "floe-cli", scope: "products:read" },
      },
    ]);
  });
});

describe("five wrong codes lock, for half an hour", () => {
  const guess = async (who: Browser, count: number) => {
    const answers = [];
    for (let index = 0; index < count; index++) answers.push(await devices.look(who, wrong(index)));
    return answers.map(({ status }) => status);
  };

  test("the account, from every address and session, right codes too, with Retry-After", async () => {
    expect(await guess(me, 6)).toEqual([400, 400, 400, 400, 400, 429]);
    const { user_code } = await devices.ask();
    const elsewhere = await devices.browser(seller);
    for (const answer of [await devices.look(elsewhere, user_code), await devices.approve(elsewhere, user_code)]) {
      expect([answer.status, answer.json]).toMatchObject([
        429,
        { error: "too_many_attempts", error_description: expect.stringMatching(/Try again in \d+ minutes\./) },
      ]);
      expect(Number(answer.headers["retry-after"])).toBe(1800);
    }
    expect((await devices.look(other, user_code)).status).toBe(200);
    floe.clock.advance(29 * 60_000 + 59_000);
    expect((await devices.look(me, (await devices.ask()).user_code)).headers["retry-after"]).toBe("1");
    floe.clock.advance(1000);
    expect((await devices.look(me, (await devices.ask()).user_code)).status).toBe(200);
    expect(await guess(me, 6)).toEqual([400, 400, 400, 400, 400, 429]);
  });

  test("the address, for every account, whichever of its /64 is used", async () => {
    expect(await guess({ ...me, address: "2001:db8:5:6::1" }, 3)).toEqual([400, 400, 400]);
    expect(await guess({ ...other, address: "2001:db8:5:6:7::2" }, 3)).toEqual([400, 400, 429]);
    const { user_code } = await devices.ask();
    expect((await devices.look({ ...other, address: "2001:db8:5:6::3" }, user_code)).status).toBe(429);
    expect((await devices.look(other, user_code)).status).toBe(200);
  });

  test("a right code takes back only its own try: own codes in between reset nothing", async () => {
    for (let index = 0; index < 4; index++) {
      expect((await devices.look(me, wrong(index))).status).toBe(400);
      expect((await devices.look(me, (await devices.ask()).user_code)).status).toBe(200);
    }
    expect(await guess(me, 2)).toEqual([400, 429]);
  });

  test("right codes never lock", async () => {
    for (let index = 0; index < 8; index++) {
      const { user_code } = await devices.ask();
      expect((await devices.look(me, user_code)).status).toBe(200);
      expect((await devices.deny(me, user_code)).status).toBe(200);
    }
  });

  test("guesses by approving and denying count, and so do others' codes", async () => {
    const { user_code } = await devices.ask();
    await devices.look(me, user_code);
    expect((await devices.approve(other, wrong(1))).status).toBe(400);
    expect((await devices.deny(other, wrong(2))).status).toBe(400);
    expect((await devices.look(other, user_code)).status).toBe(400);
    expect((await devices.approve(other, user_code)).status).toBe(403);
    expect((await devices.deny(other, user_code)).status).toBe(403);
    expect((await devices.deny(other, user_code)).status).toBe(429);
  });
});
