const editing = ["tests/cli/edit.test.ts"];
const keyed = ["tests/api/catalog-keys.test.ts"];
const item = "cli/edit/item.ts";
const draft = "cli/edit/draft.ts";
const service = "server/operations/catalog-file/service.ts";

/** Faults of what the command line keeps to. */
export const cliFaults = {
  editing: [
    ["write-over-others", item, "if (!now || !isSame(now.item, item)) throw", "if (!now) throw", ...editing],
    ["write-over-late-others", item, ", fingerprint: made.fingerprint", "", ...editing],
    [
      "write-over-record",
      "cli/edit/record.ts",
      "now.modified_at !== row.modified_at || !isSame",
      "false && !isSame",
      ...editing,
    ],
    ["failed-editor-writes", draft, "if (code !== 0) {", "if (code === undefined) {", ...editing],
    ["lost-draft", draft, "if (!isTyped && !hasOther) {", "if (saved) {", ...editing],
    ["edit-of-others", item, "  checkPlace(text, kind, key);\n", "", ...editing],
    ["keep-taken-out", item, "if (!(field in after)) cleared", "if (field in after) cleared", ...editing],
    ["edit-in-pipe", "cli/commands/edit.ts", "if (!context.interactive) {", "if (context.agent) {", ...editing],
    ["keys-make-things", service, "  if (asked.keys) assertNothingMade(asked.keys, plan);\n", "", ...keyed],
    ["keys-twice", service, "  if (asked.keys) checkKeys(asked, asked.keys);\n", "", ...keyed],
    ["keys-need-write", service, 'body.keys ? "read" : "write"', '"write"', ...keyed],
  ],
};
