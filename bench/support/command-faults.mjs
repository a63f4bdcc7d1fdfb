// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source
const match = "server/platform/http/if-match.ts";
const matching = ["tests/api/if-match.test.ts"];
const editing = ["tests/cli/edit.test.ts"];
const manual = ["tests/cli/man.test.ts"];
const roff = "cli/man/roff.ts";

const role = "server/identity/accounts/identity/as-role.ts";
const trying = ["tests/api/as-role.test.ts"];
const asking = ["tests/cli/as-role.test.ts"];

/** Faults of what is made from the list of commands: the manual and the reference in the browser; and of `--as`. */
export const commandFaults = {
  manual: [
    ["man-obeys-text", roff, 'escaped.startsWith(".") ? `\\\\&${escaped}` : escaped', "escaped", ...manual],
    ["man-obeys-escapes", roff, '  "\\\\": "\\\\e",\n', "", ...manual],
    ["man-obeys-quotes", roff, '  "\'": "\\\\(aq",\n', "", ...manual],
    ["man-of-letters", roff, "if (code < 0x7f) return", "if (code < 0x7fff) return", ...manual],
    ["man-of-controls", roff, 'text.replace(/[\\s\\p{Cc}]+/gu, " ").trim()', "text.trim()", ...manual],
    ["man-without-text", roff, '...(lines.length > 0 ? lines : ["\\\\&"])', "...lines", ...manual],
    ["man-of-hidden", "cli/man/pages.ts", "flags.filter(({ hidden }) => !hidden)", "flags", ...manual],
    [
      "man-left-behind",
      "cli/commands/man.ts",
      "    rmSync(folder, { recursive: true, force: true });\n",
      "",
      ...manual,
    ],
    ["reference-of-markup", "cli/man/html.ts", '"<": "&lt;", ', "", ...manual],
    [
      "reference-of-all",
      "server/platform/http/docs.ts",
      'addCommandReference(app, join(root, "docs/commands"))',
      "addCommandReference(app, root)",
      ...manual,
    ],
  ],
  "tried-role": [
    [
      "role-adds-scopes",
      role,
      "scopes: filterScopes(membership.scopes, getScopes(permissions)),",
      "scopes: getScopes(permissions),",
      ...trying,
    ],
    [
      "role-adds-to-key",
      role,
      "scopes: filterScopes(identity.scopes, getScopes(permissions)) };",
      "scopes: getScopes(permissions) };",
      ...trying,
    ],
    [
      "role-adds-permissions",
      role,
      "permissions: limitPermissions(membership.permissions, permissions),",
      "permissions,",
      ...trying,
    ],
    ["role-of-others", role, ".filter((one) => one.organization_id === id)", "", ...trying],
    ["role-in-one-of-two", role, " || (isNamed && !found.has(organization_id))", "", ...trying],
    [
      "role-unknown-passes",
      role,
      "if (names.every((name) => isBuiltInRole(name) || roles.has(name))) found",
      "found",
      ...trying,
    ],
    [
      "role-not-asked",
      "server/identity/accounts/identity/identify.ts",
      "credential?.asRole === undefined ? identity :",
      "true ? identity :",
      ...trying,
    ],
    [
      "role-not-of-cookies-token",
      "server/identity/accounts/identity/identify.ts",
      "text: bearer, ...limit };",
      "text: bearer };",
      ...trying,
    ],
    [
      "role-of-operator",
      "server/operations/diagnostics/service.ts",
      "if (as_role !== undefined) return false;",
      "",
      ...trying,
    ],
    ["role-of-kept-answer", "server/platform/http/mount.ts", "${formatRole(actor)}", "", ...trying],
    [
      "role-not-in-log",
      "server/platform/http/audit.ts",
      ", ...(ctx.actor.as_role !== undefined && { as_role: ctx.actor.as_role })",
      "",
      ...trying,
    ],
    [
      "role-leaves",
      "server/identity/accounts/http/tried-roles.ts",
      "needs !== undefined || tried ||",
      "true ||",
      ...trying,
    ],
    [
      "role-invites",
      "server/identity/accounts/organizations/guards.ts",
      "if (role !== undefined && !call.tried)",
      "if (false)",
      ...trying,
    ],
    [
      "role-has-all",
      "server/identity/accounts/organizations/access.ts",
      "return limitPermissions(permissions, found.permissions);",
      "return permissions;",
      ...trying,
    ],
    [
      "role-in-stream-token",
      "server/messaging/streams/routes.ts",
      "if (request.headers[asRoleHeader] !== undefined)",
      "if (false)",
      ...trying,
    ],
    [
      "role-not-sent",
      "cli/client.ts",
      "context.globals.as !== undefined && { [asRoleHeader]",
      "false && { [asRoleHeader]",
      ...asking,
    ],
    ["role-empty", "cli/client.ts", "/^[a-z][a-z0-9_,-]*$/.test(role)", "true", ...asking],
    ["role-eats-own-flag", "cli/program.ts", "    leaveOwnFlags(root, called);\n", "", ...asking],
  ],
  "if-match": [
    [
      "match-late",
      match,
      "        await tx.execute(sql`set transaction isolation level repeatable read`);\n",
      "",
      ...matching,
    ],
    [
      "match-in-one-form",
      "server/platform/http/mount.ts",
      "computeTag(named.pair, result, op)",
      "computeTag(named.pair, result)",
      ...matching,
    ],
    ["match-any", match, "one.trim() === tag ||", "one.trim() !== '' ||", ...matching],
    ["match-nothing", match, "JSON.stringify([whole.modified_at ?? null, kept])", "JSON.stringify(names)", ...matching],
    [
      "match-not-asked",
      "server/platform/http/mount.ts",
      "tag !== undefined && !sent",
      "tag !== undefined && sent",
      ...matching,
    ],
    [
      "match-not-sent",
      "cli/client.ts",
      'made.ifMatch !== undefined && { "if-match"',
      'false && { "if-match"',
      ...editing,
    ],
    [
      "match-as-fault",
      "cli/fault.ts",
      "status === 409 || status === 412",
      "status === 409",
      "tests/cli/edit.test.ts",
      "tests/cli/fault.test.ts",
    ],
  ],
};
