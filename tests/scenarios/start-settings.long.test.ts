import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { openDemoStore } from "../../server/app/demo.ts";
import { embedded } from "../../server/app/providers/embedded.ts";
import { settingNames } from "../../server/platform/config.ts";
import { folder } from "../cli/support.ts";
import { start } from "../support/floe.ts";

/** A server with an empty database starts with every documented setting, and with every two of them together. */

const pem = (type: "rsa" | "ec"): string => {
  const { privateKey } =
    type === "rsa"
      ? generateKeyPairSync("rsa", { modulusLength: 2048 })
      : generateKeyPairSync("ec", { namedCurve: "P-256" });
  return String(privateKey.export({ type: "pkcs8", format: "pem" })).replaceAll("\n", "\\n");
};

type Values = Record<string, string>;
const switches = (...names: string[]): Values[][] => names.map((name) => [{}, { [name]: "off" }]);
const client = (name: string): Values => ({ [`${name}_CLIENT_ID`]: "id", [`${name}_CLIENT_SECRET`]: "secret" });

/** Each documented setting with its values; settings that only work together are one value. */
const dimensions: Values[][] = [
  ...switches(
    "FLOE_PASSWORD_SIGN_IN",
    "FLOE_AUTO_SIGN_IN",
    "FLOE_PASSWORD_RESET",
    "FLOE_CHANGE_EMAIL",
    "FLOE_DELETE_USER",
    "FLOE_ANONYMOUS_SIGN_IN",
  ),
  [{}, { FLOE_SIGN_UP: "closed" }],
  [{}, { FLOE_EMAIL_VERIFICATION: "required" }, { FLOE_EMAIL_VERIFICATION: "off" }],
  [{}, { FLOE_USER_FIELDS: '{"company":{"type":"string","required":true},"plan":{"type":"string","input":false}}' }],
  [{}, { FLOE_ADMIN_USER_IDS: "0195d1c0-0000-7000-8000-000000000000", FLOE_SESSION_MAX_DAYS: "1" }],
  [{}, { FLOE_DEVICE_FLOW: "hardened", FLOE_DEVICE_CODE_LASTS: "15m", FLOE_DEVICE_INTERVAL: "7s" }],
  [{}, { FLOE_SOCIAL_SIGN_UP: "requested" }, { FLOE_SOCIAL_SIGN_UP: "closed" }],
  [{}, { FLOE_LINK_DIFFERENT_EMAILS: "on" }],
  [{}, { FLOE_TEST_CARDS: "on" }, { FLOE_TEST_CARDS: "off" }],
  [
    {},
    { ...client("GITHUB"), GITHUB_APP_ID: "1", GITHUB_APP_PRIVATE_KEY: pem("rsa"), FLOE_TRUSTED_PROVIDERS: "github" },
    { ...client("GOOGLE"), ...client("DISCORD"), DISCORD_BOT_TOKEN: "token" },
    { APPLE_CLIENT_ID: "id", APPLE_TEAM_ID: "team", APPLE_KEY_ID: "key", APPLE_PRIVATE_KEY: pem("ec") },
    {
      APPLE_CLIENT_ID: "id",
      APPLE_CLIENT_SECRET: "secret",
      FLOE_OIDC: "acme",
      OIDC_ACME_ISSUER: "http://127.0.0.1:9",
      OIDC_ACME_CLIENT_ID: "id",
      OIDC_ACME_CLIENT_SECRET: "secret",
    },
  ],
  [{}, { FLOE_WEBHOOK_PORTS: "22, 6379", FLOE_WEBHOOK_ALLOW: "10.0.0.0/8, fd00::/8, app:3000" }],
  [{}, { FLOE_CHECKOUT_HOURS: "1" }],
  [{}, { TRUST_PROXY: "10.0.0.0/8", FLOE_REQUESTS_PER_MINUTE: "500" }],
  [{}, { FLOE_TRUSTED_ARCHIVES: "A".repeat(43) }],
  [{}, { FLOE_HEAVY_PER_ORGANIZATION: "2", FLOE_HEAVY_PER_SERVER: "8", FLOE_HEAVY_STATEMENT_SECONDS: "30" }],
  [{}, { FLOE_DATABASE_CONNECTIONS: "20", FLOE_DATABASE_STATEMENT_SECONDS: "120" }],
  [
    {},
    {
      FLOE_DATABASE_WAIT_SECONDS: "10",
      FLOE_DATABASE_START_SECONDS: "0",
      FLOE_DATABASE_APPLICATION_NAME: "floe pay 1",
      FLOE_DATABASE_MIGRATION_URL: "postgres://owner@127.0.0.1:5432/floe",
    },
  ],
  [
    {},
    { FLOE_BACKUPS_DIR: "/var/backups/floe", FLOE_EVENTS_KEPT_MONTHS: "24", FLOE_MEDIA_URL: "https://cdn.example.com" },
  ],
  [{}, { SMTP_URL: "smtp://127.0.0.1:9", MAIL_FROM: "Shop <shop@example.com>" }],
  [{}, { FLOE_OPS_ADDRESS: "9464", FLOE_REQUEST_LOG: "on", FLOE_NOTIFY: "off" }, { FLOE_PROCESS: "api" }],
  [{}, { FLOE_MAIL_BOUNCE_SECRET: "f3N9-a secret that is long enough" }],
  [{}, { FLOE_OTLP_URL: "http://127.0.0.1:9", FLOE_OTLP_TRACES: "0.5" }],
  [{}, { FLOE_MIGRATE: "off" }],
  [{}, { FLOE_DRAIN_SECONDS: "60", FLOE_DRAIN_NOTICE_SECONDS: "0" }],
  [{}, { FLOE_SECRET_PREVIOUS: "an earlier secret that is long enough for one" }],
  [
    {},
    {
      STRIPE_SECRET_KEY: "sk_test_x",
      STRIPE_PUBLISHABLE_KEY: "pk_test_x",
      STRIPE_WEBHOOK_SECRET: "whsec_x",
      FLOE_TAX: "stripe",
    },
  ],
];
/** Settings of other tests, most of which need a service to be started: where it listens, what it is stored in, who bills. */
const elsewhere =
  /^(HOST|PORT|FLOE_URL|FLOE_DATA_DIR|FLOE_FILES_DIR|FLOE_MAINTENANCE|DATABASE_URL|FLOE_SECRET|LOG_LEVEL|FLOE_BILLING|POLAR_.*|S3_.*|.*_(API_)?URL)$/;

/** Few rows of settings in which every two values of two dimensions meet. */
function listPairwise(): Values[] {
  const open = new Set<string>();
  const pairOf = (a: number, i: number, b: number, j: number) => `${a}.${i}/${b}.${j}`;
  for (const [a, first] of dimensions.entries())
    for (const [b, second] of dimensions.entries())
      if (a < b) for (const i of first.keys()) for (const j of second.keys()) open.add(pairOf(a, i, b, j));
  const rows: Values[] = [];
  while (open.size > 0) {
    const chosen: number[] = [];
    for (const [b, values] of dimensions.entries()) {
      const gain = (j: number) => chosen.filter((i, a) => open.has(pairOf(a, i, b, j))).length;
      // Of equally good values the one that takes turns, so that the first dimensions change too.
      const turned = [...values.keys()].sort(
        (x, y) => gain(y) - gain(x) || ((x + rows.length) % values.length) - ((y + rows.length) % values.length),
      );
      chosen.push(turned[0] ?? 0);
    }
    const before = open.size;
    for (const [b, j] of chosen.entries()) for (const [a, i] of chosen.entries()) open.delete(pairOf(a, i, b, j));
    // A greedy row that meets nothing new is followed by one made for a pair that is left.
    if (open.size === before) {
      const [a = 0, i = 0, b = 0, j = 0] = [...open][0]?.split(/[./]/).map(Number) ?? [];
      Object.assign(chosen, { [a]: i, [b]: j });
      for (const [b, j] of chosen.entries()) for (const [a, i] of chosen.entries()) open.delete(pairOf(a, i, b, j));
    }
    rows.push(Object.assign({}, ...chosen.map((j, b) => dimensions[b]?.[j])));
  }
  return rows;
}
const rows = listPairwise();

test("every setting of .env.example has a row", () => {
  const documented = [...readFileSync(".env.example", "utf8").matchAll(/^#? ?([A-Z][A-Z0-9_]+)=/gm)].map(
    ([, name]) => name,
  );
  const started = new Set(dimensions.flat().flatMap((values) => Object.keys(values)));
  const missing = [...new Set([...settingNames, ...documented])].filter(
    (name = "") => !started.has(name) && !elsewhere.test(name) && !/^OIDC_ACME_(NAME|SCOPES)$/.test(name),
  );
  expect(missing).toEqual([]);
});

test.each([true, false])("an empty server starts with its settings in pairs (embedded: %s)", async (isEmbedded) => {
  // The embedded database is slower to empty: there each setting is started with at least one of the others.
  for (const settings of isEmbedded ? rows.filter((_, row) => row % 2 === 0) : rows) {
    const floe = await start({ embedded: isEmbedded, development: isEmbedded, settings });
    try {
      const { config } = floe.deps;
      const hasDemo = config.FLOE_PASSWORD_SIGN_IN && config.FLOE_SIGN_UP === "open";
      const demo = hasDemo ? await openDemoStore(floe.deps, floe.auth, embedded, folder()) : null;
      expect((await floe.request("GET", "/api/auth/methods")).status, JSON.stringify(settings)).toBe(200);
      if (!demo) continue;
      const { email, password } = demo;
      const signed = await floe.request("POST", "/api/auth/sign-in/email", { body: { email, password } });
      expect([signed.status, settings]).toEqual([200, settings]);
    } finally {
      await floe.close();
    }
  }
});
