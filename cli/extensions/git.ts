/** An extension from a git repository: which commit there is, and that commit in a folder. Nothing of it is run. */
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quote } from "../../shared/shell.ts";
import { Fault } from "../fault.ts";
import { runTool, type Tool } from "./run-tool.ts";

/** One state of a source: what a person calls it, and what it is exactly. */
export type Release = { version?: string; commit?: string };

const commitLike = /^[0-9a-f]{40}$/;
const versionTag = /^v?(\d{1,9})\.(\d{1,9})\.(\d{1,9})$/;
/** No hooks, no programs of a configuration, and no way of fetching but these. */
const cautious = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "protocol.allow=never"];
const allowed = ["https", "ssh", "http"].flatMap((protocol) => ["-c", `protocol.${protocol}.allow=always`]);

/** git with nobody to ask: a password or a new host is a failure, not a question that waits. */
const preventQuestions = (tool: Tool): Tool => ({
  ...tool,
  env: {
    ...tool.env,
    GIT_TERMINAL_PROMPT: "0",
    GIT_ASKPASS: "",
    SSH_ASKPASS_REQUIRE: "never",
    GIT_SSH_COMMAND: tool.env.GIT_SSH_COMMAND ?? "ssh -oBatchMode=yes",
    GIT_DIR: undefined,
    GIT_WORK_TREE: undefined,
    GIT_INDEX_FILE: undefined,
  },
});
const runGit = (words: string[], cwd: string, tool: Tool): Promise<string> =>
  runTool("git", [...cautious, ...allowed, ...words], cwd, preventQuestions(tool));

function compareVersions(one: string, other: string): number {
  const [first, second] = [one, other].map((tag) => (versionTag.exec(tag) ?? []).slice(1).map(Number));
  const at = [0, 1, 2].find((place) => first?.[place] !== second?.[place]);
  return at === undefined ? 0 : (first?.[at] ?? 0) - (second?.[at] ?? 0);
}

/** The refs of a repository: name → commit. A tag with a text of its own is followed to its commit. */
function readRefs(text: string): Map<string, string> {
  const refs = new Map<string, string>();
  for (const line of text.split("\n")) {
    const [commit = "", ref = ""] = line.split("\t");
    if (!commitLike.test(commit)) continue;
    const name = ref.replace(/\^\{\}$/, "");
    if (ref !== name || !refs.has(name)) refs.set(name, commit);
  }
  return refs;
}

/** Which state would be installed: the pinned one, else the newest version that has a tag, else the default branch. */
export async function findGitRelease(source: string, pin: string | undefined, tool: Tool): Promise<Release> {
  if (pin !== undefined && commitLike.test(pin)) return { commit: pin };
  const refs = readRefs(await runGit(["ls-remote", "--", source, "HEAD", "refs/tags/*"], tmpdir(), tool));
  const tags = [...refs.keys()].flatMap((ref) =>
    ref.startsWith("refs/tags/") ? [ref.slice("refs/tags/".length)] : [],
  );
  const versions = tags.filter((tag) => versionTag.test(tag)).sort(compareVersions);
  const version = pin ?? versions.at(-1);
  const commit = refs.get(version === undefined ? "HEAD" : `refs/tags/${version}`);
  if (commit === undefined)
    throw new Fault(
      "not_found",
      pin === undefined ? "the repository is empty" : `the repository has no tag ${quote(pin)}`,
      {
        hint: pin === undefined ? "Commit something to it." : "Name a tag, or a commit by all of its 40 characters.",
      },
    );
  return { ...(version !== undefined && { version }), commit };
}

/** By what a server is asked for a state: not each server gives a commit that has no name. */
function findRef({ version, commit }: Release, pin: string | undefined): string {
  if (version !== undefined) return `refs/tags/${version}`;
  return commit !== undefined && commit === pin ? commit : "HEAD";
}

/** Put one commit into a folder, without its history. */
export async function fetchGit(
  source: string,
  release: Release,
  pin: string | undefined,
  folder: string,
  tool: Tool,
): Promise<void> {
  const { commit = "" } = release;
  const ref = findRef(release, pin);
  await runGit(["init", "--quiet", "."], folder, tool);
  await runGit(
    ["fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", source, ref],
    folder,
    tool,
  );
  const fetched = (await runGit(["rev-parse", "FETCH_HEAD^{commit}"], folder, tool)).trim();
  if (fetched !== commit)
    throw new Fault("conflict", "the repository has changed while it was fetched", { hint: "Try again." });
  await runGit(["checkout", "--quiet", "--detach", commit], folder, tool);
  rmSync(join(folder, ".git"), { recursive: true, force: true });
}
