// What the HEALTHCHECK of the image runs: exit 0 while the server that has this environment answers /healthz.
// It asks for life and not for readiness: a host restarts what is unhealthy, and a restart brings no database back.
const { HOST = "", PORT = "", FLOE_PROCESS, FLOE_OPS_ADDRESS = "" } = process.env;
const limitMs = 5000;

/** Where it listens. The address of every interface is reached over loopback. */
function findOrigin() {
  if (FLOE_PROCESS !== "worker") return buildOrigin(HOST || "127.0.0.1", PORT || "4455");
  const [, host = "127.0.0.1", port] = /^(?:(.+):)?(\d+)$/.exec(FLOE_OPS_ADDRESS) ?? [];
  if (port === undefined) throw new Error("A worker answers at FLOE_OPS_ADDRESS alone: set it, as 9464.");
  return buildOrigin(host.replace(/^\[|\]$/g, ""), port);
}
function buildOrigin(host, port) {
  const reached = { "0.0.0.0": "127.0.0.1", "::": "::1" }[host] ?? host;
  return `http://${reached.includes(":") ? `[${reached}]` : reached}:${port}`;
}

try {
  const { ok, status } = await fetch(`${findOrigin()}/healthz`, { signal: AbortSignal.timeout(limitMs) });
  if (!ok) throw new Error(`The server answers ${status}.`);
} catch (error) {
  process.stderr.write(`${error.message}${error.cause ? ` (${error.cause.message})` : ""}\n`);
  process.exitCode = 1;
}
