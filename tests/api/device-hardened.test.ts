import { eq } from "drizzle-orm";
import * as oauth from "openid-client";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hashSecret } from "../../server/identity/accounts/storage.ts";
import { deviceCode } from "../../server/identity/accounts/tables.ts";
import { hashToken } from "../../server/platform/crypto/secrets.ts";
import { newAddress } from "../support/accounts.ts";
import { type Asked, type Browser, devicesOf } from "../support/devices.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let devices: ReturnType<typeof devicesOf>;
let me: Browser;
let asked: Asked;
let number: string;

beforeAll(async () => {
  floe = await start({ listen: true, settings: { TRUST_PROXY: "127.0.0.1", FLOE_DEVICE_FLOW: "hardened" } });
  devices = devicesOf(floe);
});
afterAll(() => floe.close());
beforeEach(async () => {
  seller = await floe.seller();
  me = await devices.browser(seller);
  asked = await devices.ask();
  number = asked.confirmation_number ?? "";
});
const other = () => (number === "42" ? "43" : "42");
const row = async () =>
  (
    await floe.deps.db
      .select()
      .from(deviceCode)
      .where(eq(deviceCode.deviceCode, hashSecret(asked.device_code)))
  )[0];

describe("the hardened device flow", () => {
  test("a code lives ten minutes", async () => {
    expect(asked).toMatchObject({ expires_in: 600, interval: 5 });
    floe.clock.advance(599_000);
    expect((await devices.look(me, asked.user_code)).json).toMatchObject({ expires_in: 1 });
    floe.clock.advance(1000);
    expect((await devices.approve(me, asked.user_code, number)).json).toMatchObject({ error: "expired_token" });
    expect((await devices.poll(asked.device_code)).json).toMatchObject({ error: "expired_token" });
  });

  test("a code lives as long, and is asked about as often, as is set", async () => {
    const settings = { FLOE_DEVICE_CODE_LASTS: "2m", FLOE_DEVICE_INTERVAL: "10s" };
    const brief = await start({ listen: true, settings: { TRUST_PROXY: "127.0.0.1", ...settings } });
    const others = devicesOf(brief);
    const code = await others.ask();
    expect(code).toMatchObject({ expires_in: 120, interval: 10 });
    const errors: unknown[] = [];
    for (const wait_ms of [0, 9_999, 1, 110_000]) {
      brief.clock.advance(wait_ms);
      errors.push((await others.poll(code.device_code)).json);
    }
    const said = ["authorization_pending", "slow_down", "authorization_pending", "expired_token"];
    expect(errors).toMatchObject(said.map((error) => ({ error })));
    await brief.close();
  });

  test("the number is told to the terminal alone: neither in the address, nor to the page, nor in the database", async () => {
    expect(number).toMatch(/^[1-9]\d$/);
    expect(asked).toMatchObject({ verification_uri_complete: `${floe.url}/device?user_code=${asked.user_code}` });
    const seen = await devices.look(me, asked.user_code);
    expect(seen.json).toMatchObject({ confirmation_required: true });
    expect(JSON.stringify({ ...(seen.json as object), user_code: "", requested_at: "", ip_address: "" })).not.toContain(
      `"${number}"`,
    );
    expect((await row())?.confirmation).toMatch(/^[0-9a-f]{64}$/);
  });

  test("the right number approves, as text or as a number", async () => {
    await devices.look(me, asked.user_code);
    expect((await devices.approve(me, asked.user_code, Number(number))).json).toEqual({ success: true });
    expect((await devices.poll(asked.device_code)).json).toMatchObject({ access_token: expect.any(String) });
    const again = await devices.ask();
    await devices.look(me, again.user_code);
    expect((await devices.approve(me, again.user_code, ` ${again.confirmation_number} `)).status).toBe(200);
  });

  test("without the number nothing is approved, and nothing is lost", async () => {
    await devices.look(me, asked.user_code);
    const answer = await devices.approve(me, asked.user_code);
    expect([answer.status, answer.json]).toMatchObject([400, { error: "invalid_request" }]);
    expect((await row())?.status).toBe("pending");
    expect((await devices.approve(me, asked.user_code, number)).status).toBe(200);
  });

  test("a wrong number denies the request for good", async () => {
    await devices.look(me, asked.user_code);
    const answer = await devices.approve(me, asked.user_code, other());
    expect([answer.status, answer.json]).toMatchObject([403, { error: "access_denied" }]);
    expect((await devices.approve(me, asked.user_code, number)).status).toBe(400);
    expect((await devices.poll(asked.device_code)).json).toMatchObject({ error: "access_denied" });
  });

  test("of all numbers tried at once, the first decides", async () => {
    await devices.look(me, asked.user_code);
    const numbers = Array.from({ length: 40 }, (_, index) => String(10 + index)).filter((one) => one !== number);
    const answers = await Promise.all([
      ...numbers.map((one) => devices.approve(me, asked.user_code, one)),
      devices.approve(me, asked.user_code, number),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(0);
    expect((await row())?.status).toBe("denied");
  });

  test("five wrong numbers lock the account", async () => {
    for (let count = 0; count < 5; count++) {
      const next = await devices.ask();
      await devices.look(me, next.user_code);
      const wrong = next.confirmation_number === "42" ? "43" : "42";
      expect((await devices.approve(me, next.user_code, wrong)).status).toBe(403);
    }
    expect((await devices.look(me, asked.user_code)).status).toBe(429);
  });

  test("a number belongs to its code", async () => {
    const second = await devices.ask();
    const row = async (code: Asked) =>
      (
        await floe.deps.db
          .select()
          .from(deviceCode)
          .where(eq(deviceCode.userCode, hashToken(floe.deps.config.secret, code.user_code)))
      )[0];
    const [one, two] = [await row(asked), await row(second)];
    await floe.deps.db
      .update(deviceCode)
      .set({ confirmation: one?.confirmation ?? null })
      .where(eq(deviceCode.id, two?.id ?? ""));
    await devices.look(me, second.user_code);
    expect((await devices.approve(me, second.user_code, number)).status).toBe(403);
  });

  test("to deny takes no number", async () => {
    await devices.look(me, asked.user_code);
    expect((await devices.deny(me, asked.user_code)).json).toEqual({ success: true });
  });

  test("a standard client does not mind the further field, and its user cannot approve", async () => {
    const client = await oauth.discovery(new URL(floe.url), "floe-cli", undefined, oauth.None(), {
      algorithm: "oauth2",
      execute: [oauth.allowInsecureRequests],
    });
    const standard = await oauth.initiateDeviceAuthorization(client, {});
    expect(standard).toMatchObject({ expires_in: 600, user_code: expect.any(String) });
    await devices.look({ ...me, address: newAddress() }, standard.user_code);
    expect((await devices.approve(me, standard.user_code)).status).toBe(400);
  });
});
