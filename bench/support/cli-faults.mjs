// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

import { ciFaults } from "./ci-faults.mjs";
import { commandFaults } from "./command-faults.mjs";

const editing = ["tests/cli/edit.test.ts"];
const keyed = ["tests/api/catalog-keys.test.ts"];
const item = "cli/edit/item.ts";
const draft = "cli/edit/draft.ts";
const service = "server/operations/catalog-file/service.ts";

const extending = ["tests/cli/extensions.test.ts"];
const installs = ["tests/cli/extension-install.test.ts"];
const installing = "cli/extensions/install.ts";
const installedPlace = "cli/extensions/installed.ts";
const gitSource = "cli/extensions/git.ts";
const sourceOfExtensions = "cli/extensions/source.ts";
const toolOfExtensions = "cli/extensions/run-tool.ts";
const upgrading = "cli/commands/extension-upgrade.ts";
const programs = "cli/find-program.ts";
const updating = ["tests/cli/update.test.ts"];
const notice = "cli/update/notice.ts";

const quiet = ["tests/cli/quiet.test.ts"];
const show = "cli/resource/show.ts";
const byLine = ["tests/cli/lines.test.ts"];
const lines = "cli/ui/lines.ts";
const onWindows = ["tests/cli/windows.test.ts"];
const windows = "cli/windows-start.ts";
const watching = ["tests/cli/watch.test.ts"];
const watch = "cli/resource/watch.ts";

/** Faults of what the command line keeps to. */
export const cliFaults = {
  links: [
    [
      "link-ends-itself",
      "cli/ui/theme.ts",
      "[\\x21-\\x7e]+$/.test(text)",
      ".+$/.test(text)",
      "tests/cli/table.test.ts",
    ],
    ["link-in-pipe", "cli/ui/theme.ts", "!stream.isTTY || TERM", "TERM", "tests/cli/table.test.ts"],
    ["link-in-pager", "cli/make-context.ts", "stripLinks(first.text)", "first.text", "tests/cli/table.test.ts"],
  ],
  quiet: [
    ["quiet-talks", "cli/make-context.ts", "if (!globals.quiet) context.tell", "if (globals) context.tell", ...quiet],
    ["quiet-secret", show, "[token, id, name, role]", "[id, token, name, role]", ...quiet],
    [
      "quiet-over-json",
      show,
      "quiet === true && !agent && [json, jq, template].every",
      "quiet === true && [json, jq, template].some",
      ...quiet,
    ],
    ["quiet-steers", show, "removeControls(found)", "found", ...quiet],
    ["quiet-as-json", watch, "context.json && !isQuiet(context)", "context.json", ...quiet],
  ],
  picking: [
    ["detail-stays", "cli/ui/Select.tsx", 'stdout.on("resize", follow);', "", "tests/cli/terminal.test.ts"],
    ["detail-everywhere", "cli/ui/questions.ts", "lines: fits ? lines : 0", "lines: 10", "tests/cli/terminal.test.ts"],
    [
      "detail-of-first",
      "cli/ui/Select.tsx",
      "list[shown.position]?.detail",
      "list[0]?.detail",
      "tests/cli/terminal.test.ts",
    ],
  ],
  "line-prompts": [
    ["line-drawn", "cli/make-context.ts", "context.interactive && !isLineByLine(io)", "context.interactive", ...byLine],
    ["line-rest-lost", lines, "if (rest.length > 0) stdin.unshift(rest);", "", ...byLine],
    ["line-default", lines, 'typed === "" ? [] : choices', "choices", ...byLine],
    ["line-steers", lines, "removeControls(label).trimEnd()", "label.trimEnd()", ...byLine],
    ["line-halves", lines, "Buffer.from(part)", "Buffer.from(String(part))", ...byLine],
    ["line-part-first", lines, "of [exact, found]", "of [found]", ...byLine],
    ["line-unchecked", lines, "value !== undefined && fault === undefined", "value !== undefined", ...byLine],
    ["line-end-answers", lines, 'settle("left");', 'settle({ value: "y" });', ...byLine],
    ["line-pager", "cli/make-context.ts", 'isLineByLine(io) ? "" : ', "", ...byLine],
    ["line-bar", "cli/ui/progress.ts", "canRedraw(context.io)", "Boolean(context.io.stderr.isTTY)", ...byLine],
    [
      "end-of-input-interrupts",
      "cli/ask.ts",
      "if (!context.io.signal.aborted && !interrupted.signal.aborted)",
      "if (context.globals.debug)",
      "tests/cli/prompts.long.test.ts",
    ],
  ],
  "windows-start": [
    ["batch-without-shell", windows, 'platform !== "win32" || !batchFile.test(program)', "program", ...onWindows],
    ["batch-quote", windows, '/["%\\r\\n\\0]/', "/[%\\r\\n\\0]/", ...onWindows],
    ["batch-variable", windows, '/["%\\r\\n\\0]/', '/["\\r\\n\\0]/', ...onWindows],
    ["batch-backslash", windows, "/\\\\*$/.exec(word)", "/^$/.exec(word)", ...onWindows],
    ["batch-interpreter", windows, "root && win32.isAbsolute(root)", "root", ...onWindows],
    ["batch-any-ending", programs, "windowsEndings.includes(ending)", "ending", ...onWindows],
    ["batch-order", programs, "known.length > 0 ? known : windowsEndings", "windowsEndings", ...onWindows],
  ],
  progress: [
    ["rate-of-resumed", "cli/ui/progress.ts", "(done - first) / ms", "done / ms", "tests/cli/progress.test.ts"],
    ["rate-at-once", "cli/ui/progress.ts", "ms < rateAfterMs || ", "", "tests/cli/progress.test.ts"],
  ],
  ...ciFaults,
  ...commandFaults,
  watching: [
    ["asked-too-soon", watch, "Math.max(usual, asked, ", "Math.max(usual, ", ...watching],
    [
      "refusal-passes",
      watch,
      '["unreachable", "rate_limited"]',
      '["unreachable", "rate_limited", "signed_out"]',
      ...watching,
    ],
    ["asked-within", watch, "isTriedOnce: true", "isTriedOnce: false", ...watching],
    ["asks-to-redraw", watch, "answers.get(JSON.stringify(made))", "context.call(made)", ...watching],
    ["never-idle", watch, "unchanged_ms < idle_after_ms", "unchanged_ms >= 0", ...watching],
    ["name-asked-again", "cli/resource/command.ts", "meant.params ??= await", "meant.params = await", ...watching],
    [
      "unwatched",
      "cli/commands/jobs.ts",
      "addReading(show, contextOf, showJob);",
      "show.action((id: string) => showJob(contextOf(show), id));",
      ...watching,
    ],
  ],
  editing: [
    ["write-over-others", item, "if (!now || !isSame(now.item, item)) throw", "if (!now) throw", ...editing],
    ["write-over-late-others", item, ", fingerprint: made.fingerprint", "", ...editing],
    ["write-over-record", "cli/edit/record.ts", "params, body, ifMatch };", "params, body };", ...editing],
    ["failed-editor-writes", draft, "if (code !== 0) {", "if (code === undefined) {", ...editing],
    ["lost-draft", draft, "if (!isTyped && !hasOther) {", "if (saved) {", ...editing],
    ["edit-of-others", item, "  checkPlace(text, kind, key);\n", "", ...editing],
    ["keep-taken-out", item, "if (!(field in after)) cleared", "if (field in after) cleared", ...editing],
    ["edit-in-pipe", "cli/commands/edit.ts", "if (!context.interactive) {", "if (context.agent) {", ...editing],
    ["keys-make-things", service, "  if (asked.keys) assertNothingMade(asked.keys, plan);\n", "", ...keyed],
    ["keys-twice", service, "  if (asked.keys) checkKeys(asked, asked.keys);\n", "", ...keyed],
    ["checkout-on-path", programs, "return repository === undefined || ", "return true || ", ...extending],
    ["packages-on-path", programs, ' || real.endsWith(join("node_modules", ".bin"))', "", ...extending],
    ["relative-on-path", programs, ".filter((folder) => isAbsolute(folder))", "", ...extending],
    [
      "alias-over-command",
      "cli/program.ts",
      "const other = isOwn(called)\n",
      "const other = called[0] === undefined\n",
      ...extending,
    ],
    ["extension-over-command", installing, "if (builtIn.has(name))\n", "if (name === '')\n", ...installs],
    [
      "extension-over-alias",
      installing,
      "if (Object.hasOwn(readAliases(io.env), name))",
      "if (name === '')",
      ...installs,
    ],
    ["half-an-extension", installing, "    rmSync(path, { recursive: true, force: true });\n", "", ...installs],
    ["leftovers-of-killed", installing, "!used.has(name) && !isFilled", "false", ...installs],
    ["leftovers-of-others", installing, " && !isFilled", "", ...installs],
    ["other-commit", gitSource, "if (fetched !== commit)", "if (fetched === '')", ...installs],
    ["hooks-of-person", gitSource, '"-c", "core.hooksPath=/dev/null", ', "", ...installs],
    ["history-kept", gitSource, '  rmSync(join(folder, ".git"), { recursive: true, force: true });\n', "", ...installs],
    ["newest-by-letters", gitSource, ".sort(compareVersions)", ".sort()", ...installs],
    ["scripts-of-packages", "cli/extensions/npm.ts", ' "--ignore-scripts",', "", ...installs],
    ["program-outside", installedPlace, "way.startsWith(`..${sep}`)", "false", ...installs],
    ["link-as-program", installedPlace, "!lstatSync(path).isFile()", "false", ...installs],
    ["folder-by-hand", installedPlace, '&& installedFolder.test(folder ?? "")', "", ...installs],
    [
      "endless-git",
      toolOfExtensions,
      'setTimeout(() => end("late"), limitMs)',
      "setTimeout(() => undefined, 0)",
      ...installs,
    ],
    ["helpers-left", toolOfExtensions, "process.kill(-child.pid, ", "process.kill(child.pid, ", ...installs],
    [
      "any-protocol",
      sourceOfExtensions,
      '["https:", "ssh:"].includes(url.protocol)',
      'url.protocol !== "x:"',
      ...installs,
    ],
    ["address-with-password", sourceOfExtensions, 'url.password !== "" || ', "", ...installs],
    ["flag-as-pin", sourceOfExtensions, "if (pinLike.test(pin)) return pin;", "if (pin) return pin;", ...installs],
    ["upgrade-of-pinned", upgrading, "if (before.pin !== undefined && pin === undefined)", "if (false)", ...installs],
    ["upgrade-unasked", upgrading, "  await confirm(context, `Upgrade ${what}?`, options.yes);\n", "", ...installs],
    [
      "install-unasked",
      "cli/commands/extension.ts",
      "  await confirm(context, `Install floe-${name} from ${quote(source.source)}?`, options.yes);\n",
      "",
      ...installs,
    ],
    [
      "names-of-any-kind",
      "cli/completion/complete.ts",
      "Object.hasOwn(source.groups, before)",
      "true",
      "tests/cli/completion.test.ts",
    ],
    [
      "question-by-id",
      "cli/resource/command.ts",
      "word ? describeNamed(question, group.noun, String(word)) : question",
      "question",
      "tests/cli/webhooks.test.ts",
    ],
    [
      "lines-one-too-low",
      "cli/ui/full-screen.ts",
      "incrementalRendering: false",
      "incrementalRendering: true",
      "tests/cli/top.test.ts",
    ],
    [
      "refused-now-unsaid",
      "server/operations/diagnostics/rules.ts",
      "if (retried.count > 0) {",
      "if (retried.count < 0) {",
      "tests/rules/diagnostics.test.ts",
    ],
    [
      "paid-is-due",
      "cli/ui/detail.ts",
      'key === "due_amount" && row.paid === true',
      "false",
      "tests/cli/detail.test.ts",
    ],
    [
      "redelivered-unsaid",
      "cli/webhooks/redeliver.ts",
      "    context.say(describeEvents(events));\n",
      "",
      "tests/cli/webhooks.test.ts",
    ],
    ["commands-broken-up", "cli/suggestions.ts", '.replaceAll(" ", joint)', "", "tests/cli/doctor.test.ts"],
    ["command-broken-in-talk", "cli/suggestions.ts", "if (!isLong ||", "if (isLong ||", "tests/cli/advice.test.ts"],
    ["indent-lost-in-talk", "cli/suggestions.ts", ".map((part) => indent + part)", "", "tests/cli/advice.test.ts"],
    [
      "faults-broken-up",
      "cli/fault.ts",
      "removeControls(line), columns,",
      "removeControls(line), undefined,",
      "tests/cli/advice.test.ts",
    ],
    [
      "prices-taken-for-text",
      "cli/agent/collect-fields.ts",
      "if (isTextual(values, root)) ",
      "",
      "tests/cli/mcp.test.ts",
    ],
    [
      "failing-server-without-step",
      "cli/client.ts",
      'unreachable: "Try again later.',
      'unreachable_too: "Try again later.',
      "tests/cli/advice.test.ts",
    ],
    [
      "same-dead-letters-twice",
      "server/operations/diagnostics/rules.ts",
      'isOfServer ? "the server" : "this organization"',
      '"the server"',
      "tests/api/diagnostics.test.ts",
    ],
    ["endless-alias", "cli/program.ts", "Array.isArray(other) && !isOwn(formatWords(other))", "false", ...extending],
    ["notice-in-pipe", notice, "Boolean(stderr.isTTY && stdout.isTTY) && ", "", ...updating],
    ["notice-in-ci", notice, "!env.CI && ", "", ...updating],
    ["notice-each-time", notice, " && isDue(record.said_at, now)", "", ...updating],
    ["notice-of-anything", notice, " && version.test(latest)", "", ...updating],
    ["endless-look", "cli/update/look.ts", "      timeout: limitMs,\n", "", ...updating],
    ["keys-need-write", service, 'body.keys ? "read" : "write"', '"write"', ...keyed],
  ],
};
