/**
 * The examples of deploy/ for a proxy in front of floe and for systemd, run by the programs that read them. Where a program is not
 * installed, its test is skipped: `apt-get install nginx-light caddy` brings them.
 */
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type IncomingMessage, request as plainRequest } from "node:http";
import { request as secureRequest } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { execa, execaSync, type ResultPromise } from "execa";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { session as sessions, user } from "../../server/identity/accounts/tables.ts";
import { eventually } from "../support/eventually.ts";
import { begin } from "../support/files.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { freePort } from "../support/free-port.ts";
import { openStream } from "../support/sse.ts";

const isInstalled = (program: string): boolean =>
  !execaSync("sh", ["-c", `command -v ${program}`], { reject: false, env: { PATH: `${process.env.PATH}:/usr/sbin` } })
    .failed;
const read = (name: string): string => readFileSync(join("deploy", name), "utf8");
/** Change the one place of an example that holds a text, so that it runs on this machine. */
function replaceOnce(text: string, from: string, to: string): string {
  const [before, after, more] = text.split(from);
  if (before === undefined || after === undefined || more !== undefined) throw new Error(`${from} is not there once.`);
  return before + to + after;
}

let folder: string;
let floe: Floe;
let seller: Seller;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "floe-proxies-"));
  floe = await start({ listen: true, realTime: true, settings: { TRUST_PROXY: "127.0.0.1" } });
  seller = await floe.seller();
});
afterAll(async () => {
  await floe.close();
  rmSync(folder, { recursive: true, force: true });
});

type Proxy = { origin: string; plain?: string; stop(): Promise<void> };
type Sent = { method?: string; headers?: Record<string, string>; body?: Buffer; from?: string };

/** One request by way of a proxy, from an address of this machine. The certificate of the test is self-signed. */
function send(origin: string, path: string, { method = "GET", headers, body, from }: Sent = {}) {
  const isSecure = origin.startsWith("https:");
  return new Promise<{ status: number; headers: IncomingMessage["headers"]; text: string }>((done, fail) => {
    const open = isSecure ? secureRequest : plainRequest;
    const sent = open(`${origin}${path}`, {
      method,
      agent: false,
      headers: { ...headers, ...(body && { "content-length": String(body.length) }) },
      ...(from && { localAddress: from }),
      ...(isSecure && { rejectUnauthorized: false }),
    });
    sent.once("error", fail).once("response", async (response) => {
      const text = Buffer.concat(await response.toArray()).toString();
      done({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sent.end(body);
  });
}

async function awaitProxy(run: ResultPromise, origin: string): Promise<Proxy> {
  let isEnded = false;
  const ending = run
    .catch((error) => error)
    .finally(() => {
      isEnded = true;
    });
  await eventually(async () => {
    if (isEnded) throw new Error(`The proxy ended: ${(await ending).stderr}`);
    const answer = await send(origin, "/healthz").catch(() => undefined);
    return answer?.status === 200 ? answer : undefined;
  }, `an answer of floe at ${origin}`);
  return {
    origin,
    async stop() {
      run.kill("SIGTERM");
      await ending;
    },
  };
}

async function startNginx(): Promise<Proxy> {
  const [port, plain] = [await freePort(), await freePort()];
  const [key, certificate] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const subject = ["-subj", "/CN=pay.example.com", "-days", "1", "-nodes", "-newkey", "ec"];
  await execa("openssl", [
    "req",
    "-x509",
    ...subject,
    "-pkeyopt",
    "ec_paramgen_curve:P-256",
    "-keyout",
    key,
    "-out",
    certificate,
  ]);
  const example = [
    ["127.0.0.1:4455", new URL(floe.url).host],
    ["listen 80;", `listen 127.0.0.1:${plain};`],
    ["listen 443 ssl http2;", `listen 127.0.0.1:${port} ssl http2;`],
    ["/etc/letsencrypt/live/pay.example.com/fullchain.pem", certificate],
    ["/etc/letsencrypt/live/pay.example.com/privkey.pem", key],
  ].reduce((text, [from = "", to = ""]) => replaceOnce(text, from, to), read("nginx.conf"));
  writeFileSync(join(folder, "floe.conf"), example);
  const parts = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = parts.map((name) => `${name}_temp_path ${folder}/nginx-${name};`).join(" ");
  writeFileSync(
    join(folder, "nginx.conf"),
    `daemon off; master_process off; pid ${folder}/nginx.pid; error_log stderr; events {}
     http { access_log off; ${paths} include ${folder}/floe.conf; }`,
  );
  const words = ["-p", folder, "-e", "stderr", "-c", join(folder, "nginx.conf")];
  const env = { PATH: `${process.env.PATH}:/usr/sbin` };
  await execa("nginx", ["-t", ...words], { env });
  const proxy = await awaitProxy(execa("nginx", words, { env }), `https://127.0.0.1:${port}`);
  return { ...proxy, plain: `http://127.0.0.1:${plain}` };
}

async function startCaddy(): Promise<Proxy> {
  const origin = `http://127.0.0.1:${await freePort()}`;
  const example = replaceOnce(read("Caddyfile"), "127.0.0.1:4455", new URL(floe.url).host);
  // Without a certificate authority to ask, and without the port that would administer it.
  const text = `{\n\tadmin off\n}\n${replaceOnce(example, "\npay.example.com {", `\n${origin} {`)}`;
  writeFileSync(join(folder, "Caddyfile"), text);
  const home = join(folder, "caddy");
  mkdirSync(home);
  const options = { env: { PATH: process.env.PATH, HOME: home, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home } };
  const words = ["--adapter", "caddyfile", "--config", join(folder, "Caddyfile")];
  await execa("caddy", ["validate", ...words], options);
  return awaitProxy(execa("caddy", ["run", ...words], options), origin);
}

const proxies = [
  { name: "nginx", open: startNginx },
  { name: "caddy", open: startCaddy },
];
for (const { name, open } of proxies) {
  describe.skipIf(!isInstalled(name))(`floe behind ${name}, as deploy/ sets it up`, () => {
    let proxy: Proxy;
    beforeAll(async () => {
      proxy = await open();
    });
    afterAll(() => proxy.stop());

    test("knows the client's address, and not the one that the client claims", async () => {
      const email = `${name}@example.com`;
      const { status } = await send(proxy.origin, "/api/auth/sign-up/email", {
        method: "POST",
        from: "127.0.0.9",
        headers: { "content-type": "application/json", "x-forwarded-for": "203.0.113.66", "x-real-ip": "203.0.113.66" },
        body: Buffer.from(JSON.stringify({ email, password: "correct horse battery", name: "Ada" })),
      });
      expect(status).toBe(200);
      const rows = await floe.deps.db
        .select({ address: sessions.ipAddress })
        .from(sessions)
        .innerJoin(user, eq(user.id, sessions.userId))
        .where(eq(user.email, email));
      expect(rows).toEqual([{ address: "127.0.0.9" }]);
    });

    test("takes a part of a file of 8 MB, and a body beyond it is refused by the proxy or by floe", async () => {
      const bytes = randomBytes(8 * 1024 * 1024);
      const begun = await begin(seller.client, bytes);
      const [part] = begun.upload.parts;
      const path = part?.url.slice(floe.url.length) ?? "";
      const headers = { "content-type": "application/octet-stream", ...part?.headers };
      expect(await send(proxy.origin, path, { method: "PUT", headers, body: bytes })).toMatchObject({ status: 200 });
      const tooLong = send(proxy.origin, path, { method: "PUT", headers, body: Buffer.alloc(17 * 1024 * 1024) });
      // nginx may close the connection while the rest of the body is sent. Caddy answers 502 where floe refuses before the end.
      const answer = await tooLong.catch(({ code }: NodeJS.ErrnoException) => ({ status: 413, code }));
      expect([413, 422, 502]).toContain(answer.status);
    });

    test("passes each event on as it comes", async () => {
      const stream = await openStream(`${proxy.origin}/v1/webhooks/listen`, { authorization: `Bearer ${seller.key}` });
      try {
        expect((await stream.next()).event).toBe("hello");
        await seller.client.products.create({
          body: {
            name: `By ${name}`,
            prices: [{ amount_type: "fixed", price_amount: 500, price_currency: "usd" }],
          } as never,
        });
        expect(await stream.next()).toMatchObject({ data: { type: "product.created" } });
      } finally {
        stream.close();
      }
    });

    test("answers with the name of the site to a browser, over a connection that stays secure", async () => {
      const { headers } = await send(proxy.origin, "/healthz");
      expect(headers["strict-transport-security"]).toBe("max-age=31536000");
    });
  });
}

describe.skipIf(!isInstalled("nginx"))("nginx, as deploy/ sets it up", () => {
  test("leads from the plain address to the secure one", async () => {
    const proxy = await startNginx();
    try {
      const { status, headers } = await send(proxy.plain ?? "", "/portal?a=1", {
        headers: { host: "pay.example.com" },
      });
      expect([status, headers.location]).toEqual([301, "https://pay.example.com/portal?a=1"]);
    } finally {
      await proxy.stop();
    }
  });
});

describe.skipIf(!isInstalled("systemd-analyze"))("the unit of deploy/", () => {
  test("is one that systemd reads without a complaint, and that gives up what floe does not need", async () => {
    const unit = join(folder, "floe.service");
    // The machine of the test has no floe in its path.
    writeFileSync(unit, replaceOnce(read("floe.service"), "/usr/bin/env floe serve", "/bin/true"));
    const { stdout, stderr } = await execa("systemd-analyze", ["verify", "--man=no", unit]);
    expect(stdout + stderr).toBe("");
    const { stdout: judged } = await execa("systemd-analyze", ["security", "--offline=true", "--no-pager", unit]);
    const exposure = Number(/exposure level for floe\.service: ([\d.]+)/.exec(judged)?.[1]);
    expect(exposure).toBeLessThanOrEqual(2);
  });
});
