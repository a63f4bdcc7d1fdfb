/** The image's last stage as a container runs it: a root that cannot be written, the server as process 1, a data folder. */
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Contained, fillImage, findObstacle, startContained } from "../support/clean-root.ts";
import { eventually, patienceMs } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { readImage } from "../support/image.ts";

const obstacle = findObstacle();
const hasTini = spawnSync("tini", ["--version"]).status === 0;
const image = readImage();
/** With the init of the image, and with Node as process 1, for hosts that replace the entry point. */
const [entry, alone] = [image.command, image.command.slice(image.command.indexOf("floe"))];
const folder = mkdtempSync(join(tmpdir(), "floe-container-"));
const running = new Set<Contained>();
let installed = "";
beforeAll(() => {
  if (obstacle === undefined) installed = fillImage(join(folder, "image"), image);
});
afterAll(() => {
  for (const { outer } of running) outer.kill("SIGKILL");
  rmSync(folder, { recursive: true, force: true });
});

async function serve(command: readonly string[], data: string) {
  const port = String(await freePort());
  const settings = { HOST: "127.0.0.1", PORT: port };
  const contained = await startContained(command, { image, installed, root: join(folder, "root"), data, settings });
  running.add(contained);
  const isReady = async () => {
    if (contained.outer.exitCode !== null) throw new Error(contained.printed());
    return contained.printed().includes("floe is ready") || undefined;
  };
  // The files were copied just now, and the first start makes a database: beside other tests that takes a minute.
  await eventually(isReady, "the server is ready", 3 * patienceMs);
  return { ...contained, url: `http://127.0.0.1:${port}` };
}

const commands = [
  { name: "Node as process 1", command: alone },
  ...(hasTini ? [{ name: "the init of the image", command: entry }] : []),
];
test.runIf(obstacle === undefined).each(commands)(
  "with $name it serves from a root that cannot be written, is healthy, and stops at SIGTERM",
  async ({ command }) => {
    const data = mkdtempSync(join(folder, "data-"));
    const server = await serve(command, data);
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    expect(await server.exec(...image.healthCheck)).toEqual({ code: 0, out: "" });
    expect((await server.exec("env", "PORT=1", ...image.healthCheck)).code).toBe(1);
    for (const path of ["/written", "/opt/floe/dist/written"])
      expect((await server.exec("touch", path)).out, path).toContain("Read-only file system");
    expect(await server.exec("floe", "--version")).toMatchObject({ code: 0 });
    expect(existsSync(join(data, "holder"))).toBe(true);
    // A second container on the same folder, whose process 1 is another one with the same number (RST-09).
    await expect(serve(command, data)).rejects.toThrow("is held by another floe");

    process.kill(server.pid, "SIGTERM");
    expect(await server.ended).toBe(0);
    expect(existsSync(join(data, "holder"))).toBe(false);
    // The same folder again, in another container whose process has the same number.
    const next = await serve(command, data);
    process.kill(next.pid, "SIGTERM");
    expect(await next.ended).toBe(0);
  },
);

test.runIf(obstacle === undefined && hasTini)("the init reaps what other processes leave behind", async () => {
  const server = await serve(entry, mkdtempSync(join(folder, "data-")));
  // It is orphaned at once, and ends by itself: who has taken it over must wait for it.
  await server.exec("sh", "-c", "(sleep 0.3 &)");
  // A process that is read ends meanwhile, and cat says so. The readers themselves have ended a moment later, too.
  const listProcesses = async () => (await server.exec("sh", "-c", "cat /proc/[0-9]*/stat 2>/dev/null")).out;
  const isReaped = async () => {
    const out = await listProcesses();
    return !/^\d+ \((sleep\) |.*\) Z )/m.test(out) && out;
  };
  expect(await eventually(async () => (await isReaped()) || undefined, "the init reaps it")).toMatch(
    /^1 \(tini\) [SR] /m,
  );
  process.kill(server.pid, "SIGTERM");
  expect(await server.ended).toBe(0);
});

test("where these tests do not run, the machine says why", () => {
  if (obstacle !== undefined) console.warn(`No root of one's own here, so no container was tried: ${obstacle}`);
  else if (!hasTini) console.warn("tini is not installed here, so its part was not tried.");
  expect(obstacle).not.toBe("");
});
