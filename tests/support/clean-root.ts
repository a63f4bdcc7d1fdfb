/**
 * The image of the Dockerfile without a container engine: a root of its own that cannot be written, with the programs of this
 * machine, what the last stage copies, and a data folder. The program that it starts is process 1 there.
 */
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "./eventually.ts";
import type { Image } from "./image.ts";
import { installBuilt } from "./installed.ts";

const own = ["--user", "--map-root-user", "--mount", "--pid", "--fork"];

/** Why this machine lets nobody have a root of one's own; undefined if it does. */
export function findObstacle(): string | undefined {
  const { status, stderr, error } = spawnSync("unshare", [...own, "mount", "-t", "tmpfs", "none", "/mnt"], {
    encoding: "utf8",
  });
  return status === 0 ? undefined : (error?.message ?? stderr.trim());
}

/** Put what the image has at /opt/floe into a folder: the packages, what was built, and of bin/ what is copied. */
export function fillImage(place: string, { copies }: Image): string {
  const installed = installBuilt(place);
  const copied = copies.filter(({ from }) => from === undefined).flatMap(({ sources }) => sources);
  const keep = (folder: string, names: readonly string[]) => {
    for (const name of readdirSync(folder))
      if (!names.includes(name)) rmSync(join(folder, name), { recursive: true, force: true });
  };
  keep(installed, ["package.json", "node_modules", "dist", "bin"]);
  keep(
    join(installed, "bin"),
    copied.filter((path) => dirname(path) === "bin").map((path) => basename(path)),
  );
  return installed;
}

/** $1: the new root, $2: what is at /opt/floe, $3: the data folder, $4: the folder of Node; then what is started. */
const enter = `set -e
root=$1 image=$2 data=$3 node=$4; shift 4
mount -t tmpfs none "$root"
mkdir -p "$root/usr" "$root/etc" "$root/proc" "$root/dev" "$root/opt/floe" "$root/opt/node" "$root/opt/bin" "$root/data"
for name in bin sbin lib lib64; do
  if [ -L "/$name" ]; then cp -a "/$name" "$root/$name"
  elif [ -d "/$name" ]; then mkdir "$root/$name"; mount --bind "/$name" "$root/$name"; mount -o remount,bind,ro "$root/$name"; fi
done
ln -s /opt/floe/bin/floe.js "$root/opt/bin/floe"
mount --bind "$image" "$root/opt/floe"
mount --bind "$node" "$root/opt/node"
for name in usr etc; do mount --bind "/$name" "$root/$name"; done
for name in usr etc opt/floe opt/node; do mount -o remount,bind,ro "$root/$name"; done
mount --bind "$data" "$root/data"
mount --rbind /dev "$root/dev"
mount -t proc none "$root/proc"
mount -o remount,ro "$root"
cd "$root"
exec chroot . "$@"`;

export type Contained = {
  outer: ChildProcess;
  /** The number of its process 1, seen from here. */
  pid: number;
  printed(): string;
  ended: Promise<number | null>;
  /** Run a command inside, as `docker exec` does. */
  exec(...words: string[]): Promise<{ code: number; out: string }>;
};

type Start = { image: Image; installed: string; root: string; data: string; settings: Record<string, string> };

/** Start a command in a root of its own, with the environment of the image and nothing else. */
export async function startContained(command: readonly string[], start: Start): Promise<Contained> {
  const { image, installed, root, data, settings } = start;
  for (const folder of [root, data]) mkdirSync(folder, { recursive: true });
  const env = { ...image.env, ...settings, PATH: "/opt/bin:/opt/node:/usr/bin:/bin" };
  const inside = ["env", "-i", "-C", image.folder, ...Object.entries(env).map(([name, value]) => `${name}=${value}`)];
  const places = [root, installed, data, dirname(process.execPath)];
  const words = [...own, "--kill-child", "sh", "-c", enter, "sh", ...places, ...inside, ...command];
  const outer = spawn("unshare", words, { stdio: ["ignore", "pipe", "pipe"] });
  let printed = "";
  for (const stream of [outer.stdout, outer.stderr]) stream.on("data", (part: Buffer) => (printed += String(part)));
  const ended = new Promise<number | null>((resolve) => outer.once("exit", resolve));
  const findFirst = async (): Promise<number | undefined> => {
    if (outer.exitCode !== null) throw new Error(`It ended with ${outer.exitCode}:\n${printed}`);
    return Number(readFileSync(`/proc/${outer.pid}/task/${outer.pid}/children`, "utf8")) || undefined;
  };
  const pid = await eventually(findFirst, "unshare starts process 1");
  const exec = (...program: string[]) =>
    promisify(execFile)("nsenter", [
      ...["--target", String(pid), "--user", "--mount", "--pid", "--root", "--preserve-credentials"],
      ...inside,
      ...program,
    ]).then(
      ({ stdout, stderr }) => ({ code: 0, out: `${stdout}${stderr}` }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        out: `${stdout}${stderr}`,
      }),
    );
  return { outer, pid, printed: () => printed, ended, exec };
}
