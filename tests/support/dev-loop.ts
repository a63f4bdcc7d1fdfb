/** `npm run dev` in a copy of this repository, whose files may be changed. */
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";

const readyMaxMs = 240_000;

/** A line of each part: the file, its text, the text that replaces it, and whether the new one is seen. */
type Change = { file: string; text: string; replacement: string; isSeen: (loop: DevLoop) => Promise<boolean> };
export type DevLoop = { folder: string; url: string; launcher: ChildProcess; printed: () => string };

const fetchText = (url: string): Promise<string> =>
  fetch(url).then(
    (response) => response.text(),
    // The server is started again at this moment.
    () => "",
  );

/** The scripts of a page. */
async function fetchScripts(url: string): Promise<string> {
  const html = await fetchText(`${url}/demo`);
  const addresses = [...html.matchAll(/src="(\/assets\/[^"]+\.js)"/g)].map(([, path]) => `${url}${path}`);
  return (await Promise.all(addresses.map(fetchText))).join("\n");
}

export const changes: Record<"server" | "web" | "cli", Change> = {
  server: {
    file: "server/platform/http/health.ts",
    text: '"/healthz"',
    replacement: '"/healthz-changed"',
    isSeen: async ({ url }) =>
      (await fetch(`${url}/healthz-changed`).then(
        ({ status }) => status,
        () => 0,
      )) === 200,
  },
  web: {
    file: "web/main.tsx",
    text: "createRoot(",
    replacement: 'document.body.setAttribute("data-changed-by-test", "");\ncreateRoot(',
    isSeen: async ({ url }) => (await fetchScripts(url)).includes("data-changed-by-test"),
  },
  cli: {
    file: "cli/commands/whoami.ts",
    text: '"Say who is signed in',
    replacement: '"A changed line: say who is signed in',
    isSeen: async ({ folder }) =>
      execFileSync(process.execPath, [join(folder, "bin/floe.js"), "whoami", "--help"], { encoding: "utf8" }).includes(
        "A changed line",
      ),
  },
};

/** Copy what git knows, with the packages of this repository, and start the loop there. */
export async function startDevLoop(): Promise<DevLoop> {
  const folder = mkdtempSync(join(tmpdir(), "floe-dev-loop-"));
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    encoding: "utf8",
  });
  for (const file of listed.split("\0")) if (file && existsSync(file)) cpSync(file, join(folder, file));
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  const port = await freePort();
  const launcher = spawn(process.execPath, ["bin/setup.mjs", "dev", "--port", String(port)], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: "postgres://127.0.0.1:1/production", FLOE_URL: "https://pay.example.com" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [launcher.stdout, launcher.stderr])
    stream.on("data", (chunk: Buffer) => {
      output += String(chunk);
    });
  const loop = { folder, url: `http://localhost:${port}`, launcher, printed: () => output };
  const fail = (text: string): never => {
    launcher.kill();
    rmSync(folder, { recursive: true, force: true });
    throw new Error(`${text}\n${output}`);
  };
  // It builds everything and makes a database first.
  const ends = performance.now() + readyMaxMs;
  while (!output.includes("floe is ready")) {
    if (launcher.exitCode !== null) fail(`The development loop ended with ${launcher.exitCode}.`);
    if (performance.now() > ends) fail("The development loop is not ready in time.");
    await sleep(50);
  }
  return loop;
}

/** Change a line, and answer after how many milliseconds it is seen. */
export async function measureChange(loop: DevLoop, name: keyof typeof changes): Promise<number> {
  const { file, text, replacement, isSeen } = changes[name];
  const path = join(loop.folder, file);
  const source = readFileSync(path, "utf8");
  if (!source.includes(text)) throw new Error(`${file} has no ${text}.`);
  const began = performance.now();
  writeFileSync(path, source.replace(text, replacement));
  await eventually(async () => (await isSeen(loop)) || undefined, `the change of ${file} is seen`);
  return performance.now() - began;
}

/** Send a signal to the launcher alone, and wait until it has ended. */
export async function stopDevLoop({ launcher, folder }: DevLoop, signal: NodeJS.Signals = "SIGINT"): Promise<void> {
  const ended = new Promise((resolve) => launcher.once("exit", resolve));
  launcher.kill(signal);
  await ended;
  if (signal !== "SIGKILL") rmSync(folder, { recursive: true, force: true });
}
