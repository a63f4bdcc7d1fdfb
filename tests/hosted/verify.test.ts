import { createHmac, randomBytes } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { deriveKeys, verificationFaults, verifyDelivery } from "../../server/hosted/events/verify.ts";

/** The signature of a delivery, compared with the package that Polar's SDKs verify with. */

const now = () => Math.floor(Date.now() / 1000);
const secrets = { text: "polar_whs_an-older-secret!", base64: `whsec_${randomBytes(24).toString("base64")}` };
const sign = (key: Buffer, id: string, timestamp: string, body: string) =>
  createHmac("sha256", key).update(`${id}.${timestamp}.${body}`).digest("base64");
const decide = (id: string, timestamp: string, signature: string, body: string, list: string[], at = now()) => {
  const found = verifyDelivery({ id, timestamp, signature, body: Buffer.from(body) }, list, at);
  return "fault" in found ? verificationFaults[found.fault] : found.secret_index;
};

test("2,000 deliveries are judged as standardwebhooks judges them, in its words", () => {
  let seed = 44;
  const pick = <T>(items: readonly T[]): T => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return items[Math.floor((seed / 2147483648) * items.length)] as T;
  };
  const seen = new Map<unknown, number>();
  for (let count = 0; count < 2000; count++) {
    const isText = pick([true, false]);
    const secret = isText ? secrets.text : secrets.base64;
    const theirs = isText ? new Webhook(secret, { format: "raw" }) : new Webhook(secret);
    const [first, second] = deriveKeys(secret);
    const key = (isText ? first : second) ?? Buffer.alloc(0);
    const id = pick(["msg_1", "msg_1", "ä", ""]);
    const body = pick(['{"type":"a","data":{}}', '{ "type": "ü" , "data":{}}', "not json"]);
    const at = now();
    const timestamp = pick(["now", "now", "now", "-299", "-302", "+298", "+302", "", "abc", "x1"]).replace(
      /^(now|[-+]\d+)$/,
      (text) => String(at + (text === "now" ? 0 : Number(text))),
    );
    const good = sign(key, id, timestamp, body);
    const bad = sign(Buffer.from("other"), id, timestamp, body);
    const changed = sign(key, id, timestamp, `${body} `);
    const signature = pick([
      `v1,${good}`,
      `v1,${good}`,
      `v1,${bad} v1,${good}`,
      `v2,${good}`,
      `v1a,${good}`,
      "v1,",
      `v1,${changed}`,
      `v1,${good.toLowerCase()}`,
      `v1,${good}=`,
      `  v1,${good}`,
      "v1",
      "",
      `${bad} v1,${good},more`,
    ]);
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
    let expected: string | number = 0;
    try {
      theirs.verify(body, headers, { jsonParse: false });
    } catch (error) {
      expected = (error as Error).message;
    }
    const ours = decide(id, timestamp, signature, body, [secret], at);
    expect([ours, headers]).toEqual([expected, headers]);
    seen.set(ours, (seen.get(ours) ?? 0) + 1);
  }
  expect([...seen.keys()].map(String).sort()).toEqual(["0", ...Object.values(verificationFaults)].sort());
});

test("timestamps are whole seconds, and the border is 300 of them", () => {
  const body = '{"type":"a","data":{}}';
  const at = 1_800_000_000;
  const judge = (timestamp: string) => {
    const [key = Buffer.alloc(0)] = deriveKeys(secrets.text);
    return decide("m", timestamp, `v1,${sign(key, "m", timestamp, body)}`, body, [secrets.text], at);
  };
  for (const text of ["abc", "12abc", "-1", "1e9", "1700000000.5", " 1800000000", "+1800000000"])
    expect(judge(text), text).toBe("Invalid Signature Headers");
  expect([judge(String(at - 300)), judge(String(at + 300))]).toEqual([0, 0]);
  expect([judge(String(at - 301)), judge(String(at + 301))]).toEqual([
    "Message timestamp too old",
    "Message timestamp too new",
  ]);
});

test("a secret signs by its text or by what it decodes to, and a list of secrets says which one did", () => {
  const body = "{}";
  const time = String(now());
  for (const key of deriveKeys(secrets.base64))
    expect(decide("m", time, `v1,${sign(key, "m", time, body)}`, body, [secrets.text, secrets.base64])).toBe(1);
  expect(deriveKeys(secrets.base64)).toHaveLength(2);
  expect(deriveKeys("whsec_")).toEqual([Buffer.from("whsec_")]);
  expect(decide("m", time, `v1,${sign(Buffer.alloc(0), "m", time, body)}`, body, ["whsec_"])).toBe(
    "No matching signature found",
  );
  const long = `${"v1,x ".repeat(30)}v1,${sign(Buffer.from(secrets.text), "m", time, body)}`;
  expect(decide("m", time, long, body, [secrets.text])).toBe("No matching signature found");
});
