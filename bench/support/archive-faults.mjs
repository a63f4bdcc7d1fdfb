// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of the source

/** Faults of archives: what is in one, who is trusted, and what an organization does until it is activated. */
const api = "tests/api/archives.test.ts";
const cli = "tests/cli/archives.test.ts";
const rules = "tests/rules/archives.test.ts";
const folder = "server/operations/archive";

/** [name, file, text, what stands in its place, tests …] */
export const archiveFaults = {
  archives: [
    [
      "archive-of-all",
      `${folder}/store.ts`,
      "from ${sql.identifier(kind)} t where t.organization_id = ${organization_id} ${order}`);",
      "from ${sql.identifier(kind)} t where t.organization_id is not null ${order}`);",
      api,
    ],
    [
      "archive-secret-in-the-clear",
      `${folder}/export.ts`,
      'const sealed = text === null ? "" : seal(archive_key, "archive-value", place, text);',
      'const sealed = text === null ? "" : text;',
      api,
    ],
    [
      "archive-secret-left-out",
      `${folder}/export.ts`,
      'const text = stored === "" ? null : tryUnseal(config.secrets, purpose, row, stored);',
      "const text = null;",
      api,
    ],
    [
      "archive-of-many-moments",
      `${folder}/export.ts`,
      "await readAtOnce(db, config.FLOE_HEAVY_STATEMENT_SECONDS * 1000, async (tx) => {",
      "await db.transaction(async (tx) => {",
      api,
    ],
    [
      "archive-anybody-trusted",
      `${folder}/service.ts`,
      "if (!isTrustedSigner(ctx.config, header.key))",
      "if (false)",
      api,
    ],
    [
      "archive-end-unsigned",
      `${folder}/service.ts`,
      "if (!verifyText(header.key, getSignedEnd(hashText(line), end), end.signature))",
      "if (false)",
      api,
    ],
    [
      "archive-part-unsigned",
      `${folder}/service.ts`,
      "if (!isWhole || !verifyText(row.signer, getSignedPart(row.id, part), part.signature))",
      "if (!isWhole)",
      api,
    ],
    ["archive-part-unread", `${folder}/service.ts`, "hashText(part.text) === part.sha256;", "true;", api],
    [
      "archive-any-passphrase",
      `${folder}/service.ts`,
      'if (tryUnseal([archive_key], "archive-value", "check", header.check) !== "floe")',
      "if (false)",
      api,
    ],
    ["archive-part-twice", `${folder}/service.ts`, "if (part.index < row.next_part) return row;", "", api],
    ["archive-part-early", `${folder}/service.ts`, "if (part.index > row.next_part)", "if (false)", api],
    [
      "archive-into-filled",
      `${folder}/service.ts`,
      "  if (filled !== undefined)\n    throw",
      '  if (filled === "")\n    throw',
      api,
    ],
    [
      "archive-beside-its-source",
      `${folder}/service.ts`,
      "if (source !== organization_id && (await findOrganization(tx, source)))",
      "if (false)",
      api,
    ],
    ["archive-two-copies", `${folder}/store.ts`, "if (there) return undefined;", "", api],
    [
      "archive-not-held",
      `${folder}/service.ts`,
      "await updateOrganization(tx, organization_id, { held_at: now });",
      "",
      api,
    ],
    [
      "archive-jobs-not-held",
      "server/platform/db/due.ts",
      "const isServed = sql`${organization.held_at} is null`;",
      "const isServed = sql`true`;",
      api,
    ],
    [
      "archive-changes-not-held",
      "server/platform/http/mount.ts",
      'if (actor.is_held && op.method !== "GET" && !op.whileHeld) throw rejectHeld();',
      "",
      api,
    ],
    [
      "archive-sales-not-held",
      "server/identity/organizations/rules.ts",
      "row.blocked_at === null && row.held_at === null;",
      "row.blocked_at === null;",
      api,
    ],
    ["archive-overdue-charged", `${folder}/service.ts`, "if (overdue > 0 && !body.charge_overdue)", "if (false)", api],
    [
      "archive-endpoints-on",
      `${folder}/kinds.ts`,
      "webhook_endpoints: { enabled: sql`false`,",
      "webhook_endpoints: { enabled: sql`true`,",
      api,
    ],
    ["archive-events-again", `${folder}/kinds.ts`, "dispatched_at: sql`now()` }", "dispatched_at: sql`null` }", api],
    [
      "archive-order-sums-forgotten",
      `${folder}/insert.ts`,
      "if (isOrders) await addOrderSums(tx, organization_id, json);",
      "",
      api,
    ],
    [
      "archive-erased-again",
      `${folder}/service.ts`,
      "const erased = await listLogged(ctx, row.source_organization_id);",
      "const erased: string[] = [];",
      api,
    ],
    [
      "archive-headers-unsealed",
      `${folder}/kinds.ts`,
      '    { column: "headers", purpose: "webhook-headers", findRow: findId },\n',
      "",
      rules,
    ],
    [
      "archive-checksum-unread",
      "cli/archive/reader.ts",
      'if (createHash("sha256").update(text, "utf8").digest("hex") !== part.sha256)',
      "if (false)",
      cli,
    ],
    ["archive-cut-off", "cli/archive/reader.ts", 'if (rest !== "" || !isEnded)', "if (false)", cli],
    ["archive-long-line", "cli/archive/reader.ts", "if (rest.length > lineLengthMax)", "if (false)", cli],
  ],
};
