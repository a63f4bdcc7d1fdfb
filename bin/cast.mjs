// Records docs/first-minutes.cast, the first minutes with floe on a real terminal (that of `script`), and draws docs/first-minutes.svg from it.
// The built program (npm run build) serves on a temporary folder and answers: nothing of it is made up.
//
//   node bin/cast.mjs            record and draw
//   node bin/cast.mjs --draw     draw what was recorded
//   node bin/cast.mjs --check    whether the drawing is that of the recording
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { renderCast } from "./render-cast.mjs";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const castPath = join(root, "docs/first-minutes.cast");
const [columns, rows] = [96, 26];
const title =
  "The first minutes with floe: a product, a checkout link, a sale to a test card, the order, the license key, the books";
/** What is typed, one after the other. */
const typed = [
  "floe whoami --json organization.slug",
  'floe benefits create --type license_keys --description "Desktop license" --prefix SKY --activations 3',
  'floe products create --name "Night Sky Sounds" --price 19.00 --benefits "Desktop license"',
  'floe checkout-links create --products "Night Sky Sounds" --label newsletter --json url',
  'floe sandbox buy "Night Sky Sounds" --as ada@example.com',
  "floe orders list",
  "floe license-keys list",
  "floe customers list --jq '.[] | \"\\(.email): \\(.name)\"'",
  'floe products create --name "Sky Club" --price 9.00/month --trial 14days',
  "floe pull --all --yes && head -20 floe.yaml",
  "floe status",
];

const findPort = () =>
  new Promise((done) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });

/** A shell that types each line as a person does, and lets it run. */
const writeSession = () =>
  [
    "#!/bin/bash",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the shell that fills it in
    'type_line() { printf "\\033[32m$\\033[39m \\033[1m"; for ((i = 0; i < ${#1}; i++)); do printf "%s" "${1:i:1}"; sleep 0.02; done; printf "\\033[22m\\n"; }',
    ...typed.map((line) => `type_line ${quote(line)}\n${line}\necho\nsleep 1.6`),
  ].join("\n");
const quote = (text) => `'${text.replaceAll("'", "'\\''")}'`;

async function record() {
  const folder = mkdtempSync(join(tmpdir(), "floe-cast-"));
  const port = await findPort();
  const url = `http://localhost:${port}`;
  const floe = join(root, "bin/floe.js");
  const home = join(folder, "home");
  mkdirSync(join(home, "bin"), { recursive: true });
  writeFileSync(join(home, "bin/floe"), `#!/bin/sh\nexec ${quote(process.execPath)} ${quote(floe)} "$@"\n`, {
    mode: 0o755,
  });
  const env = {
    PATH: `${join(home, "bin")}:${process.env.PATH}`,
    HOME: home,
    FLOE_KEYCHAIN: "off",
    FLOE_NO_UPDATE_NOTICE: "1",
    TERM: "xterm-256color",
    LANG: "C.UTF-8",
    PAGER: "cat",
    FLOE_PROMPT_DISABLED: "1",
  };
  const server = spawn(process.execPath, [floe, "serve", "--port", String(port)], {
    env: { ...env, FLOE_DATA_DIR: join(folder, "data"), FLOE_PASSWORD_SIGN_IN: "on" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  try {
    await prepare(url, env, floe);
    writeFileSync(join(folder, "session.sh"), writeSession());
    const [log, timing] = [join(folder, "log"), join(folder, "timing")];
    const shell = `stty cols ${columns} rows ${rows}; cd ${quote(home)}; exec bash ${quote(join(folder, "session.sh"))}`;
    execFileSync("script", ["-q", "-e", "-m", "classic", "-O", log, "-T", timing, "-c", shell], {
      env: { ...env, COLUMNS: String(columns), LINES: String(rows) },
      stdio: ["ignore", "ignore", "inherit"],
      timeout: 180_000,
    });
    return convert(readFileSync(log), readFileSync(timing, "utf8"));
  } finally {
    server.kill("SIGTERM");
    await new Promise((done) => server.once("exit", done));
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Sign up, make a sandbox, and sign the command line in. */
async function prepare(url, env, floe) {
  const post = async (path, body, headers = {}) => {
    const answer = await fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: url, ...headers },
      body: JSON.stringify(body),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  };
  for (let tries = 0; ; tries++) {
    const isUp = await fetch(`${url}/readyz`).then(
      ({ ok }) => ok,
      () => false,
    );
    if (isUp) break;
    if (tries > 300) throw new Error("The server did not start.");
    await new Promise((done) => setTimeout(done, 200));
  }
  const person = { email: "ada@acme.example", password: "a-password-of-the-cast-4455", name: "Ada" };
  const { token } = await post("/api/auth/sign-up/email", person);
  const authorization = `Bearer ${token}`;
  await post("/v1/organizations/", { name: "Acme", slug: "acme", sandbox: true }, { authorization });
  execFileSync(process.execPath, [floe, "login", "--with-token", "--server", url, "--org", "acme"], {
    env,
    input: token,
    stdio: ["pipe", "ignore", "inherit"],
  });
}

/** What `script` wrote as an asciicast: a head, then a time and a text for each write. */
function convert(log, timing) {
  // The first line of the log is a note of script's own.
  let at = log.indexOf(0x0a) + 1;
  let seconds = 0;
  const events = timing
    .trim()
    .split("\n")
    .map((line) => {
      const [after, size] = line.split(" ").slice(-2).map(Number);
      seconds += after;
      const text = log.subarray(at, at + size).toString("utf8");
      at += size;
      return JSON.stringify([Math.round(seconds * 1000) / 1000, "o", text]);
    });
  const head = { version: 2, width: columns, height: rows, title, env: { TERM: "xterm-256color" } };
  return `${[JSON.stringify(head), ...events].join("\n")}\n`;
}

const svgPath = join(root, "docs/first-minutes.svg");
const isDrawn = ["--draw", "--check"].some((flag) => process.argv.includes(flag));
if (!isDrawn) writeFileSync(castPath, await record());
const svg = renderCast(readFileSync(castPath, "utf8"));
if (process.argv.includes("--check")) {
  process.exitCode = readFileSync(svgPath, "utf8") === svg ? 0 : 1;
} else {
  writeFileSync(svgPath, svg);
  process.stdout.write(`docs/first-minutes.svg: ${Math.round(svg.length / 1024)} kB\n`);
}
