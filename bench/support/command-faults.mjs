// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source
const match = "server/platform/http/if-match.ts";
const matching = ["tests/api/if-match.test.ts"];
const editing = ["tests/cli/edit.test.ts"];
const manual = ["tests/cli/man.test.ts"];
const roff = "cli/man/roff.ts";

const orgs = "cli/commands/orgs.ts";
const making = ["tests/cli/orgs.test.ts"];

const mask = "cli/agent/mask.ts";
const masking = ["tests/cli/mcp.test.ts", "tests/cli/agent.test.ts"];
const teaching = ["tests/cli/skills.test.ts"];
const describing = ["tests/cli/schema.test.ts"];
const drawing = ["tests/cli/cast.test.ts"];
const listing = ["tests/cli/command-tree.test.ts"];

const role = "server/identity/accounts/identity/as-role.ts";
const roles = "server/identity/accounts/identity/roles.ts";
const trying = ["tests/api/as-role.test.ts"];
const asking = ["tests/cli/as-role.test.ts"];

/** Faults of what is made from the list of commands: the manual and the reference in the browser; and of `--as`. */
export const commandFaults = {
  "taken slugs": [
    ["slug-of-stranger-refused", orgs, '(error.parts.name === "ORGANIZATION_ALREADY_EXISTS" ||', "(", ...making],
    ["slug-of-sandbox-refused", orgs, 'loc.includes("slug") && msg.includes("already exists")', "false", ...making],
    ["slug-asked-for-replaced", orgs, "slug !== undefined || !isTaken(error)", "!isTaken(error)", ...making],
    ["organization-made-twice", orgs, "some((one) => one.slug === wanted)", "some(() => false)", ...making],
    ["slug-too-long", orgs, "slug.slice(0, 57)", "slug", ...making],
  ],
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
    ["role-of-others", roles, ".filter((one) => one.organizationId === id)", "", ...trying],
    ["role-in-one-of-two", role, " || (isNamed && !found.has(organization_id))", "", ...trying],
    [
      "role-unknown-passes",
      role,
      "unknown.length > 0 ? [] : [[id, permissions] as const]",
      "unknown ? [[id, permissions] as const] : []",
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
    ["match-outside", "server/platform/http/if-match.ts", " && !update.external;", ";", "tests/api/if-match.test.ts"],
    [
      "match-dropped",
      "server/platform/http/if-match.ts",
      "if (header === undefined) return;",
      'if (header !== "") return;',
      "tests/api/if-match.test.ts",
    ],
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
  "agents-read": [
    [
      "own-map-trusted",
      mask,
      "const isMap = isWritten || mapFields.has(field);",
      "const isMap = isWritten;",
      ...masking,
    ],
    ["list-of-texts-trusted", mask, "isWritten || isWrittenText(field) ? {", "isWritten ? {", ...masking],
    [
      "inner-map-trusted",
      mask,
      "maskValue(one, key, isMap, inner, depth + 1, options)]",
      "maskValue(one, key, mapFields.has(field), inner, depth + 1, options)]",
      ...masking,
    ],
    ["jobs-text-trusted", mask, 'new Set(["profile", ', 'new Set(["comment", "profile", ', ...masking],
    ["kept-text-read-as-it-is", mask, 'if (field === "payload") {', 'if (field === "body") {', ...masking],
    [
      "deep-text-trusted",
      mask,
      "if (depth > depthMax) return hiddenText;",
      "if (depth > depthMax) return value;",
      ...masking,
    ],
    [
      "hint-of-others-trusted",
      "cli/agent/render.ts",
      "fault.parts.quotesNames && hint !== undefined",
      "false",
      ...masking,
    ],
    [
      "dry-run-decides",
      "cli/agent/mode.ts",
      '!ownText.has(first) && !argv.includes("--dry-run")',
      '!argv.includes("--dry-run")',
      ...masking,
    ],
    [
      "skill-over-words",
      "cli/commands/skills.ts",
      "text.slice(at) === getSeal(text.slice(0, at))",
      "true",
      ...teaching,
    ],
    [
      "skill-through-link",
      "cli/commands/skills.ts",
      "if (isThere && !isThere.isFile())",
      "if (isThere?.isDirectory())",
      ...teaching,
    ],
    [
      "agents-file-again",
      "cli/commands/skills.ts",
      "if (from >= 0 && to > from) return",
      "if (from > 0 && to < from) return",
      ...teaching,
    ],
    ["agents-file-cut", "cli/commands/skills.ts", "+ whole + before.slice(to + ends.length)", "+ whole", ...teaching],
    [
      "agents-file-empty",
      "cli/commands/skills.ts",
      'existsSync(agentsFile) ? readFileSync(agentsFile, "utf8") : ""',
      '""',
      ...teaching,
    ],
    ["schema-of-any-file", "cli/commands/schema.ts", "/^[a-z-]+$/.test(first)", "first", ...describing],
    [
      "schema-of-pages",
      "shared/answer-schemas.ts",
      "if (!items) return whole;",
      "if (items !== null) return whole;",
      ...describing,
    ],
    [
      "scope-of-listen",
      "cli/command-scopes.ts",
      'listen: { scopes: ["webhooks:read"] }',
      'listen: { scopes: ["webhooks:write"] }',
      ...listing,
    ],
    [
      "schema-published-nowhere",
      "cli/build-schemas.ts",
      "const published = `${schemasPath}/${name}.json`;",
      "const published = `${schemasPath}/${group}-${name}.json`;",
      ...describing,
    ],
    [
      "scope-of-trigger",
      "cli/command-scopes.ts",
      '"benefits:write", "discounts:write", "customer_seats:write", ',
      '"benefits:write", "customer_seats:write", ',
      ...listing,
      "tests/cli/trigger.long.test.ts",
    ],
    [
      "scope-of-demo",
      "cli/command-scopes.ts",
      '["disputes:read", "products:write"',
      '["products:write"',
      ...listing,
      "tests/cli/demo.test.ts",
    ],
    ["key-for-people", "cli/command-scopes.ts", '"members", "orgs"', '"orgs"', ...listing],
    ["cast-of-markup", "bin/render-cast.mjs", '.replaceAll("<", "&lt;")', "", ...drawing],
    [
      "cast-of-columns",
      "bin/render-cast.mjs",
      'letter === "G") x = count - 1',
      'letter === "G") x = count',
      ...drawing,
    ],
    ["cast-of-lines", "bin/render-cast.mjs", "if (x >= columns) [x, y]", "if (x > columns) [x, y]", ...drawing],
    ["cast-without-rest", "bin/render-cast.mjs", "lines.slice(-rows)", "lines.slice(0, rows)", ...drawing],
  ],
};
