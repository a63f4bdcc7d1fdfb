const run = "tests/scenarios/proxies.long.test.ts";

/** Faults of the examples in deploy/. Where nginx, Caddy or systemd is not installed, their tests are skipped and see nothing. */
export const deployFaults = {
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
