const rules = "server/identity/accounts/ci/rules.ts";
const service = "server/identity/accounts/ci/service.ts";
const issuers = "server/identity/accounts/ci/issuers.ts";
const reading = "server/platform/external/read-json.ts";
const job = "cli/ci/key.ts";
const server = ["tests/api/ci-rules.test.ts"];
const client = ["tests/cli/ci.test.ts"];

const keychain = "cli/accounts/keychain.ts";
const keeping = ["tests/cli/keychain.test.ts"];

/** Faults of the keys that jobs of CI services get. */
export const ciFaults = {
  ci: [
    ["ci-taken-name", rules, "rule.repository_id !== null && getRepositoryId", "false && getRepositoryId", ...server],
    ["ci-first-at-once", service, "if (findMismatch(rule, claims) !== undefined) throw", "if (false) throw", ...server],
    ["ci-text-id", rules, 'typeof id === "string" || typeof id === "number"', 'typeof id === "string"', ...server],
    ["ci-tag-as-branch", rules, " || !ref.startsWith(branchPrefix)) return false", ") return false", ...server],
    [
      "ci-any-audience",
      rules,
      "if (![claims.aud].flat().includes(rule.audience)) return",
      "if (false) return",
      ...server,
    ],
    ["ci-foreign-events", rules, "if (foreignEvents.has(claims.event_name)) return", "if (false) return", ...server],
    ["ci-looser-rule", rules, "countConditions(b.rule) - countConditions(a.rule)", "0", ...server],
    [
      "ci-issuer-of-others",
      issuers,
      "if (!isObject(found) || found.issuer !== issuer)",
      "if (!isObject(found))",
      ...server,
    ],
    ["ci-keys-for-ever", issuers, "until: getNow() + keptMs", "until: Number.POSITIVE_INFINITY", ...server],
    ["ci-keys-each-time", issuers, "getNow() - known.asked_at >= againMs", "true", ...server],
    [
      "ci-token-twice",
      service,
      '  if (!used) throw notPermitted("The token of this job',
      '  if (false) throw notPermitted("The token of this job',
      ...server,
    ],
    ["ci-end-unread", service, 'requiredClaims: ["exp", "iat", "sub", "aud"]', 'requiredClaims: ["iat"]', ...server],
    ["ci-unknown-issuer", service, "if (rules.length === 0) throw", "if (false) throw", ...server],
    ["ci-rules-unlimited", service, ">= rulesMax)", "> rulesMax * 2)", ...server],
    ["ci-keys-unlimited", service, ">= keysMax)", "> keysMax * 2)", ...server],
    ["ci-open-issuer", service, 'issuer.startsWith("https://") || reach.private_allowed', "true", ...server],
    [
      "ci-more-than-maker",
      "server/identity/accounts/keys/identify.ts",
      "if (row.ci_rule_id === null) return",
      "if (row) return",
      ...server,
    ],
    ["ci-read-http", reading, "if (!isSecure && !reach.private_allowed) throw", "if (false) throw", ...server],
    ["ci-read-private", reading, "lookup: wrapLookup(url.href, reach), ", "", ...server],
    ["ci-read-endless", reading, "if (size <= bytesMax) return", "if (size > 0) return", ...server],
    ["ci-read-redirect", reading, "if (response.statusCode !== 200)", "if (response.statusCode === 500)", ...server],
    [
      "ci-key-unshared",
      job,
      'job.kind === "gitlab" ? await awaitKept(context, name) : undefined',
      "undefined",
      ...client,
    ],
    ["ci-token-in-clear", job, 'if (url.protocol !== "https:" && !isLoopbackUrl(url))', "if (false)", ...client],
    ["ci-audience-unsaid", job, 'url.searchParams.set("audience", server);', "", ...client],
    [
      "keychain-unread",
      keychain,
      "return kept === token ? prefix + account",
      "return kept !== undefined ? prefix + account",
      ...keeping,
    ],
    ["keychain-hangs", keychain, "return Promise.race([late, work(", "return Promise.race([work(", ...keeping],
    ["keychain-of-kernel", keychain, 'store: "secret-service"', 'store: "keyutils"', ...keeping],
    ["keychain-kept", keychain, "(entry, signal) => entry.deletePassword(signal)", "async () => false", ...keeping],
    [
      "sign-ins-lost",
      "cli/settings-write.ts",
      'mode: 0o600, flag: "wx" });\n      isHeld',
      "mode: 0o600 });\n      isHeld",
      ...keeping,
    ],
    ["lock-for-ever", "cli/settings-write.ts", "if (age > lockStaleMs)", "if (age < 0)", ...keeping],
  ],
};
