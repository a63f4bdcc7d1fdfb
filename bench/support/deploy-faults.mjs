const contained = "tests/deploy/container.long.test.ts";
const run = "tests/scenarios/proxies.long.test.ts";

/** Faults of the examples in deploy/. Where nginx, Caddy or systemd is not installed, their tests are skipped and see nothing. */
export const deployFaults = {
  image: [
    [
      "shell-init",
      "Dockerfile",
      'ENTRYPOINT ["tini", "-s", "--"]',
      'ENTRYPOINT ["sh", "-c", "floe serve; true"]',
      contained,
    ],
    ["wrong-probe", "bin/health.mjs", "if (!ok) throw", "if (ok) throw", contained],
    ["deaf-probe", "bin/health.mjs", "process.exitCode = 1;", "", contained],
    ["no-folder", "Dockerfile", "FLOE_DATA_DIR=/data", "FLOE_DATA_DIR=/var/data", contained],
  ],
  proxies: [
    [
      "address-claimed",
      "deploy/nginx.conf",
      "X-Forwarded-For $remote_addr",
      "X-Forwarded-For $http_x_forwarded_for",
      run,
    ],
    ["small-bodies", "deploy/nginx.conf", "client_max_body_size 16m;", "", run],
    ["no-redirect", "deploy/nginx.conf", "return 301 https://$host$request_uri;", "return 404;", run],
    [
      "address-passed",
      "deploy/Caddyfile",
      "reverse_proxy 127.0.0.1:4455",
      "reverse_proxy 127.0.0.1:4455 {\n\t\theader_up X-Forwarded-For {header.X-Forwarded-For}\n\t}",
      run,
    ],
    ["rights-kept", "deploy/floe.service", "CapabilityBoundingSet=\n", "", run],
    ["unknown-line", "deploy/floe.service", "ProtectClock=yes", "ProtectClocks=yes", run],
  ],
};
