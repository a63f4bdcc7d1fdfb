/** A server of its own for `floe try`: a process on a free port of this machine, with its data in one folder. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { getEnvironment } from "../environment.ts";
import { Fault } from "../fault.ts";
import { send } from "../http.ts";

export type OwnServer = {
  url: string;
  port: number;
  /** The owner of the store that the first start makes. */
  owner: { email: string; password: string };
  /** Stop it, and wait until it has ended. */
  stop(): Promise<void>;
  /** Resolves when it ends by itself. */
  ended: Promise<void>;
};

const startMsMax = 60_000;
const stopMsMax = 15_000;
const pollMs = 50;
const logMax = 4000;

async function findFreePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve, reject) => probe.once("error", reject).listen(0, "127.0.0.1", resolve));
  const address = probe.address();
  await new Promise((resolve) => probe.close(resolve));
  if (address === null || typeof address === "string") throw new Error("There is no free port.");
  return address.port;
}

/** Settings of this shell that would make it another server: another database, mail to real people, real cards. */
const foreign =
  /^(FLOE_|HOST$|PORT$|DATABASE_URL$|SMTP_|MAIL_|STRIPE_|S3_|POLAR_|TRUST_PROXY$|LOG_LEVEL$|GITHUB_|GOOGLE_|DISCORD_|APPLE_|OIDC_)/;

/** Start it, and wait until it answers. */
export async function startOwnServer(program: string, folder: string, signal: AbortSignal): Promise<OwnServer> {
  const port = await findFreePort();
  const url = `http://localhost:${port}`;
  const env = Object.fromEntries(Object.entries(getEnvironment()).filter(([name]) => !foreign.test(name)));
  // In a group of its own, so that Ctrl-C comes to it by us alone; the channel ends it if we are killed.
  const child = spawn(process.execPath, [program, "serve", "--port", String(port), "--data-dir", folder], {
    env,
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let log = "";
  child.stderr?.on("data", (part: Buffer) => {
    log = (log + part.toString("utf8")).slice(-logMax);
  });
  const ended = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const stop = () => stopChild(child, ended);
  try {
    await awaitReady({
      url,
      signal,
      hasEnded: () => child.exitCode !== null || child.signalCode !== null,
      log: () => log,
    });
    const owner = JSON.parse(readFileSync(join(folder, "demo.json"), "utf8")) as OwnServer["owner"];
    return { url, port, owner, stop, ended };
  } catch (error) {
    await stop();
    throw error;
  }
}

type Waiting = { url: string; signal: AbortSignal; hasEnded: () => boolean; log: () => string };

async function awaitReady({ url, signal, hasEnded, log }: Waiting): Promise<void> {
  for (const ends = Date.now() + startMsMax; ; ) {
    if (signal.aborted) throw new Fault("interrupted", "stopped");
    if (hasEnded() || Date.now() > ends)
      throw new Fault("error", `the server did not start: ${log().trim() || "it said nothing"}`);
    const request = { method: "GET", url: new URL(`${url}/readyz`), headers: {}, timeoutMs: 2000, env: {}, signal };
    const answer = await send(request).catch(() => undefined);
    if (answer?.status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

async function stopChild(child: ChildProcess, ended: Promise<void>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), stopMsMax);
  await ended;
  clearTimeout(timer);
}

/** Remove a folder; a file that the system still holds is tried again. */
export const removeFolder = (folder: string): void =>
  rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
