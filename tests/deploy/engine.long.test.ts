/** The Dockerfile's own steps, run by a container engine, and what they make, run as docs/deploying.md and the compose file say. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type Engine, findEngineObstacle, modestLimits, startEngine } from "../support/engine.ts";
import { eventually, patienceMs } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { readImage } from "../support/image.ts";
import { createEmptyDatabase } from "../support/postgres-database.ts";

const obstacle = findEngineObstacle();
const image = readImage();
const folder = mkdtempSync(join(tmpdir(), "floe-engine-"));
let engine: Engine;
beforeAll(async () => {
  if (obstacle !== undefined) return;
  engine = await startEngine(join(folder, "engine"));
  await engine.build("floe", process.cwd());
}, 15 * patienceMs);
afterAll(async () => {
  await engine?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 5 * patienceMs);

/** The flags of the command in the documents, but for the port and the file of settings. */
const flags = (() => {
  const [, line = ""] =
    /^docker run (--read-only .*) -v floe:\/data/m.exec(readFileSync("docs/deploying.md", "utf8")) ?? [];
  return line.split(" ");
})();

type Shop = { name: string; url: string };
type More = { settings?: Record<string, string>; given?: readonly string[]; volume: string };

/** Start a container, and wait until it is ready. It shares the network of the machine, which has no other to give. */
async function serve({ settings = {}, given = flags, volume }: More): Promise<Shop> {
  const port = String(await freePort());
  const name = `floe-${port}`;
  const env = Object.entries({ ...settings, HOST: "127.0.0.1", PORT: port }).flatMap(([key, value]) => [
    "--env",
    `${key}=${value}`,
  ]);
  const words = ["--name", name, "--network=host", ...modestLimits, ...given, ...env, "--volume", `${volume}:/data`];
  await engine.ask(["run", "--detach", ...words, "floe"]);
  const url = `http://127.0.0.1:${port}`;
  const isReady = async () => {
    if ((await engine.ask(["inspect", name, "--format", "{{.State.Status}}"])).includes("exited"))
      throw new Error(await engine.ask(["logs", name]));
    return (await fetch(`${url}/readyz`).catch(() => undefined))?.ok || undefined;
  };
  await eventually(isReady, "the container is ready", 3 * patienceMs);
  return { name, url };
}

const stop = async ({ name }: Shop, seconds = 45) => {
  const began = Date.now();
  await engine.ask(["stop", "--time", String(seconds), name]);
  expect((Date.now() - began) / 1000).toBeLessThan(seconds);
  return engine.ask(["inspect", name, "--format", "{{.State.ExitCode}}"]).then((out) => out.trim().split("\n").at(-1));
};
const inside = (shop: Shop, ...words: string[]) => engine.run(["exec", shop.name, ...words]);

const ada = { email: "ada@acme.example", password: "a-password-of-a-test-4455", name: "Ada" };
const knock = (shop: Shop, path: string) =>
  fetch(shop.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", origin: shop.url },
    body: JSON.stringify(ada),
  }).then(({ status }) => status);
const withPasswords = { FLOE_PASSWORD_SIGN_IN: "on" };

describe.runIf(obstacle === undefined)("an image of the Dockerfile", () => {
  test("says who runs, what is started, what is healthy and how it is stopped, and holds nothing of its making", async () => {
    const [made] = JSON.parse(await engine.ask(["inspect", "--type=image", "floe"])) as {
      Size: number;
      Config: { User: string; Env: string[]; Volumes?: object; StopSignal: string; WorkingDir: string };
      Healthcheck: { Test: string[] };
    }[];
    expect(made?.Config).toMatchObject({ User: "1000:1000", StopSignal: "SIGTERM", WorkingDir: "/data" });
    expect(made?.Config.Volumes ?? {}).toEqual({});
    expect(made?.Healthcheck.Test).toEqual(["CMD", ...image.healthCheck]);
    // 358 MB are Debian, Node and npm.
    expect((made?.Size ?? Infinity) / 1e6).toBeLessThan(650);
    // Where a file was mounted during a step, an empty one is left.
    const list = "find /opt /source /data /root /usr/local -not -path '*/node_modules/*' -type f -size +0 2>/dev/null";
    const words = ["run", "--rm", "--network=none", ...modestLimits, "--no-healthcheck", "--user=0:0"];
    const files = (await engine.ask([...words, "floe", "sh", "-c", `${list}; true`])).split("\n").filter(Boolean);
    const own = files.filter((file) => file.startsWith("/opt/floe/") && !file.startsWith("/opt/floe/dist/"));
    expect(own.sort()).toEqual(
      ["bin/floe.js", "bin/health.mjs", "bin/node24.mjs", "bin/package.json", "bin/run.mjs", "package.json"].map(
        (name) => `/opt/floe/${name}`,
      ),
    );
    expect(files.filter((file) => /^\/(source|data)\/|npmrc|package-lock|\.map$|\.tsx?$|\.env/.test(file))).toEqual(
      files.filter((file) => file === "/opt/floe/dist/react.d.ts"),
    );
  });

  test("runs without rights from a root that it cannot write, is healthy, stops in time and keeps its data", async () => {
    expect(flags).toEqual(["--read-only", "--cap-drop=ALL", "--security-opt", "no-new-privileges"]);
    const shop = await serve({ volume: "kept", settings: withPasswords });
    expect((await engine.run(["healthcheck", "run", shop.name])).code).toBe(0);
    expect((await inside(shop, "id", "-u")).out).toContain("1000");
    const { out: status } = await inside(shop, "sh", "-c", "cat /proc/1/comm /proc/1/status; ls -ld /data");
    expect(status).toMatch(/^tini$/m);
    expect(status).toMatch(/^CapEff:\s+0+$/m);
    expect(status).toMatch(/^NoNewPrivs:\s+1$/m);
    expect(status).toMatch(/^drwx------ .* node node .* \/data$/m);
    for (const path of ["/written", "/opt/floe/dist/written", "/etc/written"])
      expect((await inside(shop, "touch", path)).out, path).toContain("Read-only file system");
    expect(await knock(shop, "/api/auth/sign-up/email")).toBe(200);
    // A second container with the same volume ends with a sentence, and the first one goes on.
    await expect(serve({ volume: "kept" })).rejects.toThrow("is held by another floe");
    expect((await fetch(`${shop.url}/readyz`)).status).toBe(200);

    // The engine's signal is the image's. The exit code is floe's own, and not the 137 of a kill.
    expect(await stop(shop)).toBe("0");
    const again = await serve({ volume: "kept", settings: withPasswords });
    expect(await knock(again, "/api/auth/sign-in/email")).toBe(200);
    // Nor does a container that was killed leave the volume locked, or lose what it had acknowledged.
    await engine.ask(["kill", "--signal=KILL", again.name]);
    const third = await serve({ volume: "kept", settings: withPasswords });
    expect(await knock(third, "/api/auth/sign-in/email")).toBe(200);
    expect(await stop(third)).toBe("0");
  });

  test("runs as examples/compose says, with PostgreSQL, and is ready by the health check there", async () => {
    const { services } = parse(readFileSync("examples/compose/compose.yaml", "utf8"));
    const { floe } = services as Record<"floe", Service>;
    expect([floe.read_only, floe.cap_drop, floe.security_opt]).toEqual([true, ["ALL"], ["no-new-privileges:true"]]);
    const given = ["--read-only", ...floe.cap_drop.map((one) => `--cap-drop=${one}`)].concat(
      floe.security_opt.map((one) => `--security-opt=${one.replace(":true", "")}`),
    );
    const settings = {
      ...Object.fromEntries(Object.entries(floe.environment).filter(([, value]) => !value.includes("${"))),
      FLOE_SECRET: randomBytes(32).toString("hex"),
      DATABASE_URL: await createEmptyDatabase(),
    };
    const shop = await serve({ volume: "files", given, settings });
    const [, ...check] = floe.healthcheck.test.map((word) => word.replaceAll("$$", "$"));
    expect((await inside(shop, ...check)).code).toBe(0);
    expect((await inside(shop, "env", "PORT=1", ...check)).code).toBe(1);
    expect(await stop(shop, Number.parseInt(floe.stop_grace_period, 10))).toBe("0");
  });
});

type Service = {
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  environment: Record<string, string>;
  healthcheck: { test: string[] };
  stop_grace_period: string;
};

test("where no engine is, the machine says why", () => {
  if (obstacle !== undefined) console.warn(`No image was made and run here: ${obstacle}.`);
  expect(obstacle).not.toBe("");
});
