import { readFileSync } from "node:fs";
import { parse as parseToml } from "smol-toml";
import { expect, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { settings } from "../../cli/commands/serve.ts";
import { readSettings } from "../../server/platform/config.ts";

/** The files for hosts in `deploy/` and the container of `examples/compose`: what they set is known, and they wait long enough. */

const read = (path: string): string => readFileSync(path, "utf8");
const fly = parseToml(read("deploy/fly.toml")) as {
  kill_signal: string;
  kill_timeout: number;
  deploy: { release_command: string };
  env: Record<string, string>;
  http_service: { internal_port: number; auto_stop_machines: string; checks: { path: string }[] };
};
const railway = JSON.parse(read("deploy/railway.json")) as {
  deploy: { preDeployCommand: string[]; healthcheckPath: string; drainingSeconds: number };
};
const render = parseYaml(read("deploy/render.yaml")) as {
  services: {
    preDeployCommand: string;
    healthCheckPath: string;
    maxShutdownDelaySeconds: number;
    envVars: { key: string; value?: string }[];
  }[];
};
const [service] = render.services;
const compose = parseYaml(read("examples/compose/compose.yaml")) as {
  services: { floe: { stop_grace_period: string; environment: Record<string, string> } };
};
const unit = read("deploy/floe.service");
const known = new Set(settings.map(({ name }) => name));

test("OPS-01: each host waits for the notice and for the requests in progress before it kills the server", () => {
  const { FLOE_DRAIN_NOTICE_SECONDS: notice, FLOE_DRAIN_SECONDS: drain } = readSettings({});
  const least = notice + drain;
  expect(least).toBeGreaterThan(30);
  const waits = {
    fly: fly.kill_timeout,
    railway: railway.deploy.drainingSeconds,
    render: service?.maxShutdownDelaySeconds,
    compose: Number.parseInt(compose.services.floe.stop_grace_period, 10),
    systemd: Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]),
  };
  expect(Object.entries(waits).filter(([, seconds]) => !((seconds ?? 0) > least))).toEqual([]);
  expect([fly.kill_signal, /^KillSignal=(.*)$/m.exec(unit)?.[1]]).toEqual(["SIGTERM", "SIGTERM"]);
});

test("each variable that a file for a host sets is a setting of the server", () => {
  const named = [
    ...Object.keys(fly.env),
    ...(service?.envVars.map(({ key }) => key) ?? []),
    ...Object.keys(compose.services.floe.environment),
  ];
  expect(named.length).toBeGreaterThan(15);
  expect(named.filter((name) => !known.has(name))).toEqual([]);
  const document = read("docs/hosting.md");
  const table = document.slice(document.indexOf("| Setting"), document.indexOf("`HOST=0.0.0.0`"));
  const described = [...table.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].flatMap(([, name]) => name ?? []);
  expect(described.length).toBeGreaterThan(12);
  expect(described.filter((name) => !known.has(name))).toEqual([]);
});

test("each host migrates before it replaces a server, and asks /readyz", () => {
  const [image] = /^EXPOSE (\d+)$/m.exec(read("Dockerfile"))?.slice(1) ?? [];
  expect(String(fly.http_service.internal_port)).toBe(image);
  expect(service?.envVars.find(({ key }) => key === "PORT")?.value).toBe(image);
  expect([fly.deploy.release_command, service?.preDeployCommand, ...railway.deploy.preDeployCommand]).toEqual(
    Array(3).fill("floe migrate"),
  );
  for (const value of [fly.env.FLOE_MIGRATE, service?.envVars.find(({ key }) => key === "FLOE_MIGRATE")?.value])
    expect(value).toBe("off");
  expect([fly.http_service.checks[0]?.path, service?.healthCheckPath, railway.deploy.healthcheckPath]).toEqual(
    Array(3).fill("/readyz"),
  );
  // A machine that stops when nobody asks renews nothing and sends no webhook.
  expect(fly.http_service.auto_stop_machines).toBe("off");
});
