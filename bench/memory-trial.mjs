/**
 * Everything large that a seller may send, to a server that has 1 GB: pictures at the limit of their pixels as logos of printed
 * invoices, deep and wide bodies, bulk events, catalogues, downloads, and a hundred exports at once. The server runs in a control
 * group of that size where one can be made (as root). Elsewhere its anonymous memory and that of its child processes is summed up
 * every 20 ms, and beyond 1 GB the process that Linux would end first (`/proc/PID/oom_score`) is killed. Prints the peak of each
 * step; where the server does not outlive it the exit code is 1.
 *
 *   npm run build && node bench/memory-trial.mjs [--embedded] [--megabytes 1024]     needs Linux
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { crc32, deflateSync } from "node:zlib";
import { freePort } from "../tests/support/free-port.ts";
import { startPostgres } from "../tests/support/postgres.ts";

const { values: given } = parseArgs({
  options: { embedded: { type: "boolean", default: false }, megabytes: { type: "string", default: "1024" } },
});
const limitMb = Number(given.megabytes);
const folder = mkdtempSync(join(tmpdir(), "floe-memory-"));
const postgres = given.embedded ? undefined : await startPostgres();
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const readLines = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // The process has ended in between.
    return "";
  }
};

/** A control group of this much memory, of either version; undefined where none can be made. */
function makeControlGroup() {
  const isUnified = existsSync("/sys/fs/cgroup/cgroup.controllers");
  const group = `/sys/fs/cgroup/${isUnified ? "" : "memory/"}floe-memory-trial-${process.pid}`;
  const [limit, kills] = isUnified ? ["memory.max", "memory.events"] : ["memory.limit_in_bytes", "memory.oom_control"];
  try {
    mkdirSync(group);
    writeFileSync(join(group, limit), String(limitMb * 1024 ** 2));
  } catch (error) {
    console.log(`No control group can be made (${error.code}): the memory is watched instead.`);
    return undefined;
  }
  return {
    processes: join(group, "cgroup.procs"),
    countKills: () => Number(/^oom_kill (\d+)/m.exec(readLines(join(group, kills)))?.[1] ?? 0),
    /** What the server has started ends a moment after it. */
    async remove() {
      for (let tries = 0; tries < 100 && readLines(join(group, "cgroup.procs")) !== ""; tries += 1) await sleep(100);
      rmdirSync(group);
    },
  };
}
const group = makeControlGroup();
if (group) console.log(`In a control group of ${limitMb} MB.`);
const program = [process.execPath, join(import.meta.dirname, "../bin/floe.js"), "serve", "--port", String(port)];
// The shell enters the group and becomes the server, so that nothing of it is outside.
const command = group ? ["sh", "-c", `echo $$ > ${group.processes} && exec "$@"`, "sh", ...program] : program;
const server = spawn(command[0], command.slice(1), {
  cwd: folder,
  env: {
    PATH: process.env.PATH,
    HOME: folder,
    FLOE_DATA_DIR: join(folder, "data"),
    FLOE_EMAIL_VERIFICATION: "off",
    FLOE_REQUESTS_PER_MINUTE: "0",
    // As Node limits itself where a control group has so much.
    NODE_OPTIONS: `--max-old-space-size=${limitMb / 2}`,
    ...(postgres && { DATABASE_URL: postgres.url, FLOE_SECRET: "a secret for benches, long enough to be one" }),
  },
  stdio: ["ignore", "ignore", "inherit"],
});
const ended = once(server, "exit");

/** What a process holds that the system cannot take back: without the pages of files, which are read again. */
const readMegabytes = (pid) => Number(/^RssAnon:\s+(\d+)/m.exec(readLines(`/proc/${pid}/status`))?.[1] ?? 0) / 1024;
/** The server and what it has started. */
const listProcesses = () =>
  [
    server.pid,
    ...readLines(`/proc/${server.pid}/task/${server.pid}/children`).split(" ").filter(Boolean).map(Number),
  ].map((pid) => ({ pid, megabytes: readMegabytes(pid) }));
let [peakMb, serverPeakMb, kills] = [0, 0, 0];
const watcher = setInterval(() => {
  const processes = listProcesses();
  const sum = processes.reduce((total, { megabytes }) => total + megabytes, 0);
  peakMb = Math.max(peakMb, sum);
  serverPeakMb = Math.max(serverPeakMb, processes.find(({ pid }) => pid === server.pid)?.megabytes ?? 0);
  if (group || sum <= limitMb) return;
  const scores = processes.map(({ pid }) => ({ pid, score: Number(readLines(`/proc/${pid}/oom_score`)) }));
  const [first] = scores.sort((a, b) => b.score - a.score);
  process.kill(first.pid, "SIGKILL");
  kills += 1;
}, 20);

async function call(method, path, token, body, headers = {}) {
  const isText = typeof body === "string" || body instanceof Uint8Array;
  const answer = await fetch(path.startsWith("http") ? path : url + path, {
    method,
    headers: {
      origin: url,
      ...(token && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: isText ? body : JSON.stringify(body) }),
  }).catch((error) => ({ status: 0, headers: new Headers(), text: async () => String(error.cause ?? error) }));
  const text = await answer.text().catch(() => "");
  return { status: answer.status, headers: answer.headers, text, json: () => JSON.parse(text) };
}
async function expectDone(promise) {
  const answer = await promise;
  if (answer.status >= 300) throw new Error(`${answer.status} ${answer.text.slice(0, 300)}`);
  return answer.text === "" ? {} : answer.json();
}

const hasEnded = () => server.exitCode !== null || server.signalCode !== null;
let failed = false;
/** Do a step; prints how it was answered and what it took of memory at most. */
async function measureStep(name, work) {
  [peakMb, serverPeakMb, kills] = [0, 0, 0];
  const killsBefore = group?.countKills() ?? 0;
  const answers = await work();
  if (group) kills = group.countKills() - killsBefore;
  const isAlive = !hasEnded();
  if (!isAlive) failed = true;
  const peak = `${peakMb.toFixed(0).padStart(5)} MB in all, ${serverPeakMb.toFixed(0).padStart(4)} MB server`;
  const killed = kills > 0 ? `, ${kills} killed` : "";
  console.log(`${name.padEnd(44)} ${peak}${killed}   ${isAlive ? "" : "THE SERVER HAS ENDED "}${answers ?? ""}`);
  if (!isAlive) throw new Error("The server has ended.");
}
const countStatuses = (answers) => {
  const byStatus = Object.groupBy(answers, ({ status }) => status);
  return Object.entries(byStatus)
    .map(([status, all]) => `${all.length} × ${status}`)
    .join(", ");
};
const times = (count, work) => Promise.all(Array.from({ length: count }, (_, index) => work(index)));

const side = 5000;
const chunkOf = (type, data) => {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
};
/** A PNG of so many pixels in each direction, all of one color. */
function makePng({ width = side, height = side, depth = 8, colorType = 6, interlaced = false } = {}) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([depth, colorType, 0, 0, interlaced ? 1 : 0], 8);
  const bytesPerRow = 1 + Math.ceil((width * depth * { 0: 1, 2: 3, 6: 4 }[colorType]) / 8);
  const data = deflateSync(Buffer.alloc(bytesPerRow * height, 0), { level: 9 });
  const signature = Buffer.from("\x89PNG\r\n\x1a\n", "latin1");
  return Buffer.concat([signature, chunkOf("IHDR", header), chunkOf("IDAT", data), chunkOf("IEND", Buffer.alloc(0))]);
}
/** Only a header: what decodes it fails, after it has made room. */
const jpegHeader = Buffer.from(
  `ffd8ffc0001108${"1388".repeat(2)}03012200021101031101ffda000c03010002110311003f00`,
  "hex",
);
const gifHeader = Buffer.concat([
  Buffer.from(`474946383961${"8813".repeat(2)}f00000000000ffffff2c00000000${"8813".repeat(2)}0002`, "hex"),
  Buffer.alloc(900_000, 1),
]);
const webpHeader = Buffer.concat([
  Buffer.from("RIFF\x20\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00", "latin1"),
  Buffer.from("871300871300", "hex"),
]);
const svg = Buffer.from(
  `<svg xmlns="http://www.w3.org/2000/svg" width="5000" height="5000">${'<g filter="url(#f)">'.repeat(20_000)}${"</g>".repeat(20_000)}</svg>`,
);
const pictures = {
  "PNG, 8 bit, 25 MP": ["image/png", makePng()],
  "PNG, 16 bit, 25 MP": ["image/png", makePng({ depth: 16 })],
  "PNG, interlaced, 25 MP": ["image/png", makePng({ interlaced: true })],
  "PNG, gray, 1 pixel high": ["image/png", makePng({ width: 25_000_000, height: 1, colorType: 0 })],
  "PNG, 400 MP": ["image/png", makePng({ width: 20_000, height: 20_000, depth: 1, colorType: 0 })],
  "JPEG header, 25 MP": ["image/jpeg", jpegHeader],
  "GIF header, 25 MP": ["image/gif", gifHeader],
  "WebP header, 25 MP": ["image/webp", webpHeader],
  "SVG, 20,000 layers": ["image/svg+xml", svg],
};

await measureStep("start", async () => {
  while (!hasEnded() && (await call("GET", "/readyz")).status !== 200) await sleep(50);
});
const account = { email: "trial@example.com", password: "correct horse battery staple", name: "Seller" };
const { token } = await expectDone(call("POST", "/api/auth/sign-up/email", undefined, account));
const shop = { name: "Acme", slug: "acme-memory" };
const organization = await expectDone(call("POST", "/api/auth/organization/create", token, shop));
const { key } = await expectDone(
  call("POST", "/api/auth/api-key/create", token, { name: "bench", organizationId: organization.id }),
);
const product = await expectDone(
  call("POST", "/v1/products/", key, { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] }),
);

async function upload(bytes, mime_type, service, partSize = bytes.length) {
  const parts = Array.from({ length: Math.ceil(bytes.length / partSize) }, (_, index) => ({
    number: index + 1,
    chunk_start: index * partSize,
    chunk_end: Math.min((index + 1) * partSize, bytes.length),
    checksum_sha256_base64: null,
  }));
  const body = {
    name: "file",
    mime_type,
    size: bytes.length,
    checksum_sha256_base64: null,
    service,
    upload: { parts },
  };
  const begun = await call("POST", "/v1/files/", key, body);
  if (begun.status >= 300) return begun;
  const file = begun.json();
  const sent = [];
  for (const part of file.upload.parts) {
    const type = { "content-type": "application/octet-stream", ...part.headers };
    const answer = await call("PUT", part.url, undefined, bytes.subarray(part.chunk_start, part.chunk_end), type);
    if (answer.status !== 200) return answer;
    sent.push({ number: part.number, checksum_etag: answer.headers.get("etag"), checksum_sha256_base64: null });
  }
  const { id, path } = file.upload;
  return call("POST", `/v1/files/${file.id}/uploaded`, key, { id, path, parts: sent });
}

async function sell() {
  const { client_secret } = await expectDone(call("POST", "/v1/checkouts/", key, { products: [product.id] }));
  const buyer = {
    customer_email: `buyer-${crypto.randomUUID()}@example.com`,
    customer_name: "Buyer",
    customer_billing_address: { country: "FR", city: "Paris", line1: "1 Rue", postal_code: "75001" },
    confirmation_token_id: "pm_card_visa",
  };
  await expectDone(call("POST", `/v1/checkouts/client/${client_secret}/confirm`, undefined, buyer));
  const page = await expectDone(call("GET", "/v1/orders/?limit=1", key));
  return page.items[0].id;
}

/** Print an invoice with a logo, however often that has to be tried. */
async function print(bytes, mime_type) {
  const uploaded = await upload(bytes, mime_type, "product_media");
  if (uploaded.status >= 300) return `upload ${uploaded.status}`;
  const branding = { logo_url: uploaded.json().public_url };
  const updated = await call("PATCH", `/v1/organizations/${organization.id}`, key, { branding });
  if (updated.status >= 300) return `logo ${updated.status}`;
  const order = await sell();
  await expectDone(call("POST", `/v1/orders/${order}/invoice`, key));
  for (let tries = 0; tries < 600; tries += 1) {
    if ((await call("GET", `/v1/orders/${order}/invoice`, key)).status === 200) return "printed";
    await sleep(200);
  }
  failed = true;
  return "NOT PRINTED within two minutes";
}

const megabyte = 1024 ** 2;
const post = (path, body) => call("POST", path, key, body);
const deep = (open, close, bytes) => open.repeat(bytes / open.length / 2) + close.repeat(bytes / close.length / 2);
const wide = `{"name":"Book","prices":[{"amount_type":"free"}],"metadata":{${Array.from({ length: 300_000 }, (_, n) => `"key${n}":"value${n}"`).join()}}}`;
const longBook = { name: "Book", prices: [{ amount_type: "free" }], description: "long ".repeat(1.8 * megabyte) };
const events = JSON.stringify({
  events: Array.from({ length: 10_000 }, (_, n) => ({
    name: "call",
    external_customer_id: `customer-${n}`,
    metadata: { text: "x".repeat(400), n },
  })),
});
const catalog = JSON.stringify({
  document: {
    version: 1,
    catalog: "big",
    products: Object.fromEntries(
      Array.from({ length: 5000 }, (_, n) => [
        `p${n}`,
        { name: `Product ${n}`, description: "x".repeat(800), prices: ["10.00"] },
      ]),
    ),
  },
});

try {
  for (const [name, [type, bytes]] of Object.entries(pictures)) await measureStep(name, () => print(bytes, type));
  await measureStep("40 pictures at once", async () =>
    countStatuses(await times(40, () => upload(pictures["PNG, 16 bit, 25 MP"][1], "image/png", "product_media"))),
  );
  await measureStep("20 deep bodies of 9 MB", async () =>
    countStatuses(await times(20, (n) => post("/v1/products/", n % 2 ? deep("[", "]", 9e6) : deep('{"a":', "}", 9e6)))),
  );
  await measureStep("20 wide bodies", async () => countStatuses(await times(20, () => post("/v1/products/", wide))));
  await measureStep("20 descriptions of 9 MB", async () =>
    countStatuses(await times(20, () => post("/v1/products/", longBook))),
  );
  await measureStep("20 bulks of 10,000 events", async () =>
    countStatuses(await times(20, () => post("/v1/events/ingest", events))),
  );
  await measureStep("20 catalogues of 5,000 products", async () =>
    countStatuses(await times(20, () => post("/v1/catalog/plan", catalog))),
  );
  const book = Buffer.alloc(100 * megabyte, "%PDF-1.7 ");
  await measureStep("10 downloads of 100 MB uploaded at once", async () =>
    countStatuses(await times(10, () => upload(book, "application/pdf", "downloadable", 8 * megabyte))),
  );
  await measureStep("100 exports at once", async () => {
    const paths = ["orders", "customers", "subscriptions"].map((name) => `/v1/${name}/export`);
    return countStatuses(await times(100, (n) => call("GET", paths[n % paths.length], key)));
  });
  await measureStep("100 exports of invoices at once", async () =>
    countStatuses(await times(100, () => post("/v1/invoice-exports/", {}))),
  );
  await measureStep("at rest", () => sleep(5000));
  const { status } = await call("GET", "/readyz");
  if (status !== 200) throw new Error(`The server is not ready: ${status}`);
} catch (error) {
  console.error(error);
  failed = true;
}
clearInterval(watcher);
server.kill("SIGTERM");
await ended;
await group?.remove();
await postgres?.stop();
rmSync(folder, { recursive: true, force: true });
process.exit(failed ? 1 : 0);
