// Checks that subjects of commits have at most 72 characters.
//   node bin/check-subjects.mjs --file FILE   one message, as the hook commit-msg passes it
//   node bin/check-subjects.mjs --new         the commits since this check exists, as far as the clone has them
// Plain JavaScript: an older Node reads this file.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

const lengthMax = 72;
const [mode, file] = process.argv.slice(2);
const git = (...args) => spawnSync("git", args, { encoding: "utf8" });

/** The subject of a message that git has not cleaned up yet: the first line that is neither empty nor a comment. */
const readSubject = (message) => message.split("\n").find((line) => line.trim() !== "" && !line.startsWith("#")) ?? "";

/** Subjects that git writes itself, or that a rebase replaces. */
const isGenerated = (subject) => /^(Merge|Revert) |^(fixup|squash|amend)! /.test(subject);

/** The subjects of the new commits. None where git or the history is missing: a source archive and a shallow clone pass. */
function listNewSubjects() {
  const added = git("log", "--diff-filter=A", "--format=%H", "--", ".githooks/commit-msg");
  const first = added.status === 0 ? added.stdout.trim().split("\n").at(-1) : "";
  if (!first) return [];
  const log = git("log", "--no-merges", "--format=%s", `${first}..HEAD`);
  return log.status === 0 ? log.stdout.split("\n").filter(Boolean) : [];
}

if (mode !== "--new" && !(mode === "--file" && file)) {
  process.stderr.write("check-subjects: give --file FILE or --new.\n");
  process.exit(64);
}
const subjects = mode === "--new" ? listNewSubjects() : [readSubject(readFileSync(file, "utf8"))];
const tooLong = subjects.filter((subject) => [...subject].length > lengthMax && !isGenerated(subject));
for (const subject of tooLong)
  process.stderr.write(
    `This subject has ${[...subject].length} characters; ${lengthMax} is the limit. Move details into the body.\n  ${subject}\n`,
  );
process.exit(tooLong.length > 0 ? 1 : 0);
