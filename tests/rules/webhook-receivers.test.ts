import { createServer, type Server } from "node:http";
import type { AddressInfo, LookupFunction } from "node:net";
import { afterEach, describe, expect, test } from "vitest";
import { ConfigError, readSettings } from "../../server/platform/config.ts";
import { checkAddress, findReach, findRefusal, openLine } from "../../server/platform/external/outbound.ts";

/** Private receivers of webhooks: those that the operator lists, and no others (WHK-01). */

const open: Server[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) {
    server.closeAllConnections();
    await new Promise((done) => server.close(done));
  }
});
async function startReceiver(): Promise<{ port: number; calls: () => number }> {
  let calls = 0;
  const server = createServer((_request, response) => {
    calls += 1;
    response.end("noted");
  });
  open.push(server);
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { port: (server.address() as AddressInfo).port, calls: () => calls };
}
const readList = (FLOE_WEBHOOK_ALLOW: string) => readSettings({ FLOE_WEBHOOK_ALLOW }, {}).FLOE_WEBHOOK_ALLOW;
const reachOf = (list: string, lookup?: LookupFunction) => ({
  ...findReach({ development: false, FLOE_WEBHOOK_ALLOW: readList(list), FLOE_WEBHOOK_PORTS: [] }),
  ...(lookup && { lookup }),
});
const answering =
  (...addresses: string[]): LookupFunction =>
  (_host, options, callback) => {
    const found = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    if (options.all) callback(null, found);
    else callback(null, found[0]?.address ?? "", found[0]?.family);
  };
async function post(url: string, reach: Parameters<typeof openLine>[1]) {
  const line = openLine(url, reach);
  try {
    return await line.post({}, "{}");
  } finally {
    line.close();
  }
}
const list = "10.0.0.0/8, fd00::/8, 192.168.7.7, app:3000, Billing.Internal, db:5432";

describe("the operator's list", () => {
  test("has ranges, addresses, and host names with and without a port", () => {
    expect(readList(list)).toEqual({
      ranges: ["10.0.0.0/8", "fd00::/8", "192.168.7.7/32"],
      hosts: [
        { name: "app", port: 3000 },
        { name: "billing.internal", port: undefined },
        { name: "db", port: 5432 },
      ],
    });
    for (const empty of ["", " , "]) expect(readList(empty)).toEqual({ ranges: [], hosts: [] });
  });
  test.each([
    ["10.0.0.0/33", "neither a range"],
    ["10.0.0.7/8", "write 10.0.0.0/8"],
    ["0.0.0.0/0", "no range of private networks"],
    ["::/0", "no range of private networks"],
    ["8.8.8.0/24", "no range of private networks"],
    ["10.0.0.0/7", "no range of private networks"],
    ["169.254.0.0/16", "no range of private networks"],
    ["169.254.169.254", "no range of private networks"],
    ["fe80::/10", "no range of private networks"],
    ["::ffff:10.0.0.0/104", "no range of private networks"],
    ["http://app:3000", "neither a range"],
    ["app:", "neither a range"],
    ["app:0", "neither a range"],
    ["app:65536", "neither a range"],
    ["app:3000/hook", "neither a range"],
    ["*", "neither a range"],
    ["*.internal", "neither a range"],
    ["10.0.0.7:3000", "neither a range"],
    ["10.0.0", "neither a range"],
    ["10/8", "neither a range"],
    ["010.0.0.7", "neither a range"],
    ["[fd00::7]:3000", "neither a range"],
    ["a b", "neither a range"],
    [`${"a".repeat(64)}.internal`, "neither a range"],
  ])("%s is refused as the server starts, in one sentence", (entry, reason) => {
    const read = () => readList(`app, ${entry}`);
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(reason);
    expect(read).toThrow(/^Wrong setting\. FLOE_WEBHOOK_ALLOW: [^\n;]+$/);
  });
});

describe("with a list", () => {
  test.each([
    "https://10.1.2.3/hook",
    "http://10.1.2.3/hook",
    "http://10.1.2.3:3000/hook",
    "http://0x0a010203/hook",
    "https://[fd12::1]/hook",
    "http://192.168.7.7/hook",
    "http://app:3000/hook",
    "https://app:3000/hook",
    "http://APP.:3000/hook",
    "http://billing.internal/hook",
    "https://billing.internal:8443/hook",
    "http://db:5432/hook",
    "https://example.com/hook",
  ])("%s may be called", (url) => expect(findRefusal(url, reachOf(list))).toBeUndefined());

  test.each([
    "http://192.168.7.8/hook",
    "https://172.16.0.1/hook",
    "https://127.0.0.1/hook",
    "https://169.254.169.254/hook",
    "https://[fd00:ec2::254]/hook",
    "https://[::ffff:10.0.0.1]/hook",
    "http://8.8.8.8/hook",
    "http://10.1.2.3:5432/hook",
    "http://10.1.2.3:22/hook",
    "http://billing.internal:6379/hook",
    "ftp://app:3000/hook",
  ])("%s stays refused", async (url) => {
    const refusal = findRefusal(url, reachOf(list));
    expect(refusal).toBeTypeOf("string");
    expect(await checkAddress(url, reachOf(list))).toBe(refusal);
    expect(await post(url, reachOf(list))).toEqual({ http_code: null, text: refusal });
  });

  test.each([
    // Without ranges a name that is not listed is refused by its text.
    ["app:3000", "http://app:3001/hook"],
    ["app:3000", "http://app/hook"],
    ["app:3000", "https://other:3000/hook"],
    ["app:3000", "http://app.example.com:3000/hook"],
    ["app:3000", "http://example.com/hook"],
    ["app:3000", "http://10.0.0.1:3000/hook"],
  ])("%s does not allow %s", (entries, url) => expect(findRefusal(url, reachOf(entries))).toBeTypeOf("string"));

  test.each([
    ["http://hooks.example.com/hook", ["10.0.0.7"]],
    ["https://hooks.example.com/hook", ["10.0.0.7", "8.8.8.8"]],
    ["http://web:8080/hook", ["10.0.0.7", "fd00::7"]],
    ["http://app:3000/hook", ["172.18.0.3"]],
    ["https://billing.internal/hook", ["100.64.0.9"]],
  ])("%s that leads to %j is accepted", async (url, addresses) =>
    expect(await checkAddress(url, reachOf(list, answering(...addresses)))).toBeUndefined(),
  );

  test.each([
    ["http://hooks.example.com/hook", ["8.8.8.8"]],
    ["http://hooks.example.com/hook", ["10.0.0.7", "8.8.8.8"]],
    ["https://hooks.example.com/hook", ["10.0.0.7", "192.168.7.8"]],
    ["https://hooks.example.com/hook", ["127.0.0.1"]],
    ["http://web:8080/hook", ["172.18.0.3"]],
    ["https://web/hook", ["8.8.8.8"]],
    ["http://app:3001/hook", ["172.18.0.3"]],
    ["http://app:3000/hook", ["169.254.169.254"]],
    ["http://app:3000/hook", ["fd00:ec2::254"]],
    ["http://app:3000/hook", ["100.100.100.200"]],
    ["http://app:3000/hook", ["0.0.0.0"]],
    ["http://app:3000/hook", ["::ffff:10.0.0.7"]],
    ["http://app:3000/hook", []],
  ])("%s that leads to %j is refused, at creation and at the socket", async (url, addresses) => {
    const reach = reachOf(list, answering(...addresses));
    const refusal = await checkAddress(url, reach);
    expect(refusal).toBeTypeOf("string");
    expect(await post(url, reach)).toEqual({ http_code: null, text: refusal });
  });

  test("the address that is connected to is the one that was checked: a name that changes is refused", async () => {
    const receiver = await startReceiver();
    let asked = 0;
    const lookup: LookupFunction = (host, options, callback) => {
      asked += 1;
      answering(asked === 1 ? "10.0.0.7" : "127.0.0.1")(host, options, callback);
    };
    const url = `http://hooks.example.com:${receiver.port}/hook`;
    expect(await checkAddress(url, reachOf(list, lookup))).toBeUndefined();
    expect(await post(url, reachOf(list, lookup))).toEqual({ http_code: null, text: expect.any(String) });
    expect([asked, receiver.calls()]).toEqual([2, 0]);
  });

  test("a listed receiver is called, by name, by address and by a range", async () => {
    const { port, calls } = await startReceiver();
    const arrived = { http_code: 200, text: "noted" };
    const here = answering("127.0.0.1");
    expect(await post(`http://app:${port}/hook`, reachOf(`app:${port}`, here))).toEqual(arrived);
    expect(await post(`http://127.0.0.1:${port}/hook`, reachOf("127.0.0.0/8"))).toEqual(arrived);
    expect(await post(`http://web:${port}/hook`, reachOf("127.0.0.0/8", here))).toEqual(arrived);
    expect(calls()).toBe(3);
    expect(await post(`http://127.0.0.1:${port}/hook`, reachOf("127.0.0.2"))).toMatchObject({ http_code: null });
    expect(calls()).toBe(3);
  });
});
