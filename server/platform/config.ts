import { createPrivateKey, type KeyObject } from "node:crypto";
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { isLoopbackHost, isLoopbackUrl } from "../../shared/loopback.ts";
import { describeIssue } from "../../shared/words.ts";
import { readAllowedReceivers } from "./external/network-addresses.ts";
import { secretLengthMin, secretText } from "./secret-text.ts";
import { parseOpsAddress } from "./telemetry/ops-address.ts";
import { readUserFields } from "./user-fields.ts";

const convertBlank = (value: unknown) => (value === "" ? undefined : value);
const buildOptional = <T extends z.ZodType>(schema: T) => z.preprocess(convertBlank, schema.optional());
const url = z.url({ protocol: /^https?$/ });
const postgresUrl = z.string().regex(/^postgres(ql)?:\/\/\S+$/, "must begin with postgres:// or postgresql://");
/** Proxies as they are named in a list: addresses, ranges and the names of ranges. */
const isProxy = (text: string): boolean =>
  ["loopback", "linklocal", "uniquelocal"].includes(text) ||
  ipaddr.IPv4.isValidFourPartDecimal(text) ||
  ipaddr.IPv6.isValid(text) ||
  ipaddr.isValidCIDR(text);
const splitList = (text: string): string[] =>
  text
    .split(",")
    .map((item) => item.trim())
    .filter((item) => item !== "");

/** The address of a service, without a slash at the end. */
const getBase = (usual: string) =>
  z.preprocess(
    convertBlank,
    url.default(usual).transform((text) => text.replace(/\/+$/, "")),
  );
const list = z.string().default("").transform(splitList);
/** A switch that is on unless it is turned off. */
const on = z.preprocess(convertBlank, z.stringbool().default(true));
const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
/** A length of time as people write it, `30m`, in milliseconds. */
const isLasting = (min_ms: number, max_ms: number, says: string) =>
  buildOptional(
    z.string().transform((text, { addIssue }): number => {
      const [, count, unit = ""] = /^([1-9]\d{0,4})([smh])$/.exec(text) ?? [];
      const ms = Number(count) * (unitsMs[unit] ?? Number.NaN);
      if (ms >= min_ms && ms <= max_ms) return ms;
      addIssue({ code: "custom", message: says });
      return z.NEVER;
    }),
  );
/** A key in PEM form; on one line its line ends are written `\n`. */
const readPrivateKey =
  (type: KeyObject["asymmetricKeyType"], message: string) =>
  (text: string, { addIssue }: z.RefinementCtx): KeyObject => {
    try {
      const key = createPrivateKey(text.replaceAll("\\n", "\n"));
      if (key.asymmetricKeyType === type) return key;
    } catch {
      // Said below.
    }
    addIssue({ code: "custom", message });
    return z.NEVER;
  };
const appleKey = readPrivateKey("ec", "must be a private key of Apple's: the text of the .p8 file");
const gitHubKey = readPrivateKey("rsa", "must be a private key of a GitHub app: the text of its .pem file");

/** What a reader makes of a setting, or what it says is wrong with it. */
const readWith =
  <I, O>(read: (given: I) => { value: O } | { fault: string }) =>
  (given: I, { addIssue }: z.RefinementCtx): O => {
    const result = read(given);
    if ("value" in result) return result.value;
    addIssue({ code: "custom", message: result.fault });
    return z.NEVER;
  };

/** Every setting, by the name of its environment variable. `.env.example` says what each is for. */
const Settings = z.object({
  HOST: z.preprocess(convertBlank, z.string().default("127.0.0.1")),
  PORT: z.preprocess(convertBlank, z.coerce.number().int().min(0).max(65535).default(4455)),
  FLOE_URL: buildOptional(url),
  FLOE_DATA_DIR: z.preprocess(convertBlank, z.string().default(".floe")),
  DATABASE_URL: buildOptional(postgresUrl),
  FLOE_DATABASE_CONNECTIONS: z.preprocess(convertBlank, z.coerce.number().int().min(2).max(500).default(10)),
  FLOE_DATABASE_STATEMENT_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(3600).default(7)),
  FLOE_DATABASE_WAIT_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(60).default(4)),
  FLOE_DATABASE_START_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(0).max(86_400).default(300)),
  FLOE_DATABASE_APPLICATION_NAME: buildOptional(
    z.string().regex(/^[ -~]{1,60}$/, "must be 1 to 60 characters of ASCII"),
  ),
  FLOE_DATABASE_MIGRATION_URL: buildOptional(postgresUrl),
  FLOE_MIGRATE: on,
  FLOE_OPS_ADDRESS: buildOptional(
    z.string().refine((text) => parseOpsAddress(text) !== undefined, "must be a port or an address, as 127.0.0.1:9464"),
  ),
  FLOE_MAIL_BOUNCE_SECRET: buildOptional(secretText),
  FLOE_OTLP_URL: buildOptional(url),
  FLOE_OTLP_TRACES: z.preprocess(convertBlank, z.coerce.number().min(0).max(1).default(1)),
  FLOE_NOTIFY: buildOptional(z.stringbool()),
  FLOE_REQUEST_LOG: z.preprocess(convertBlank, z.stringbool().default(false)),
  FLOE_PROCESS: z.preprocess(convertBlank, z.enum(["all", "api", "worker"]).default("all")),
  FLOE_DRAIN_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(0).max(3600).default(30)),
  FLOE_DRAIN_NOTICE_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(0).max(600).default(5)),
  // Not `optional`: an empty secret is a mistake, never a wish to have none.
  FLOE_SECRET: secretText.optional(),
  FLOE_SECRET_PREVIOUS: z.preprocess(
    convertBlank,
    z
      .string()
      .default("")
      .refine(
        (text) => splitList(text).every((one) => one.length >= secretLengthMin),
        "must be earlier secrets, each of at least 32 characters, by commas",
      ),
  ),
  FLOE_BILLING: z.preprocess(convertBlank, z.enum(["embedded", "polar"]).default("embedded")),
  TRUST_PROXY: buildOptional(
    z
      .string()
      .refine((text) => splitList(text).every(isProxy), "must be addresses or ranges, as 10.0.0.0/8, by commas"),
  ),
  FLOE_WEBHOOK_ALLOW: z.preprocess(convertBlank, list.transform(readWith(readAllowedReceivers))),
  FLOE_WEBHOOK_PORTS: list.pipe(z.array(z.string().pipe(z.coerce.number<string>().int().min(1).max(65_535)))),
  FLOE_REQUESTS_PER_MINUTE: buildOptional(z.coerce.number().int().min(0)),
  FLOE_HEAVY_PER_ORGANIZATION: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(100).default(1)),
  FLOE_HEAVY_PER_SERVER: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(100).default(4)),
  FLOE_HEAVY_STATEMENT_SECONDS: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(3600).default(60)),
  FLOE_CHECKOUT_HOURS: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(720).default(24)),
  FLOE_TRUSTED_ARCHIVES: list.pipe(
    z.array(z.string().regex(/^[\w-]{43}$/, "is a list of keys that sign archives, each of 43 characters")).max(100),
  ),
  FLOE_EVENTS_KEPT_MONTHS: buildOptional(z.coerce.number().int().min(1)),
  FLOE_MEDIA_URL: buildOptional(url),
  FLOE_FILES_DIR: buildOptional(z.string()),
  FLOE_BACKUPS_DIR: buildOptional(z.string()),
  FLOE_MAINTENANCE: z.preprocess(convertBlank, z.stringbool().default(false)),
  S3_BUCKET: buildOptional(z.string()),
  S3_REGION: z.preprocess(convertBlank, z.string().default("us-east-1")),
  S3_ENDPOINT: buildOptional(url),
  S3_ACCESS_KEY_ID: buildOptional(z.string()),
  S3_SECRET_ACCESS_KEY: buildOptional(z.string()),
  SMTP_URL: buildOptional(z.string().regex(/^smtps?:\/\/\S+$/, "must begin with smtp:// or smtps://")),
  MAIL_FROM: z.preprocess(convertBlank, z.string().default("floe <no-reply@localhost>")),
  STRIPE_SECRET_KEY: buildOptional(
    z.string().regex(/^[sr]k_(test|live)_\S+$/, "must begin with sk_ or rk_, and test_ or live_"),
  ),
  STRIPE_PUBLISHABLE_KEY: buildOptional(
    z.string().regex(/^pk_(test|live)_\S+$/, "must begin with pk_test_ or pk_live_"),
  ),
  STRIPE_WEBHOOK_SECRET: buildOptional(z.string().startsWith("whsec_", "must begin with whsec_")),
  STRIPE_API_URL: getBase("https://api.stripe.com").refine(
    (text) => new URL(text).pathname === "/",
    "must have no path",
  ),
  FLOE_TEST_CARDS: buildOptional(z.stringbool()),
  FLOE_TAX: z.preprocess(convertBlank, z.enum(["registrations", "stripe"]).default("registrations")),
  POLAR_ACCESS_TOKEN: buildOptional(z.string()),
  POLAR_URL: buildOptional(url),
  POLAR_ORGANIZATION: buildOptional(z.uuid()),
  POLAR_WEBHOOK_SECRET: list.refine((secrets) => secrets.length <= 10, "must be at most ten secrets, by commas"),
  POLAR_CHECK: z.preprocess(convertBlank, z.enum(["strict", "report"]).default("strict")),
  POLAR_TIMEOUT_MS: z.preprocess(convertBlank, z.coerce.number().int().min(100).max(120_000).default(10_000)),
  POLAR_CONCURRENCY: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(1000).default(20)),
  GITHUB_CLIENT_ID: buildOptional(z.string()),
  GITHUB_CLIENT_SECRET: buildOptional(z.string()),
  GITHUB_APP_ID: buildOptional(z.string()),
  GITHUB_APP_PRIVATE_KEY: buildOptional(z.string().transform(gitHubKey)),
  GITHUB_URL: getBase("https://github.com"),
  GITHUB_API_URL: getBase("https://api.github.com"),
  GOOGLE_CLIENT_ID: buildOptional(z.string()),
  GOOGLE_CLIENT_SECRET: buildOptional(z.string()),
  GOOGLE_URL: getBase("https://accounts.google.com"),
  DISCORD_CLIENT_ID: buildOptional(z.string()),
  DISCORD_CLIENT_SECRET: buildOptional(z.string()),
  DISCORD_BOT_TOKEN: buildOptional(z.string()),
  DISCORD_URL: getBase("https://discord.com"),
  APPLE_CLIENT_ID: buildOptional(z.string()),
  APPLE_CLIENT_SECRET: buildOptional(z.string()),
  APPLE_TEAM_ID: buildOptional(z.string()),
  APPLE_KEY_ID: buildOptional(z.string()),
  APPLE_PRIVATE_KEY: buildOptional(z.string().transform(appleKey)),
  APPLE_URL: getBase("https://appleid.apple.com"),
  FLOE_PASSWORD_SIGN_IN: on,
  FLOE_SIGN_UP: z.preprocess(convertBlank, z.enum(["open", "closed"]).default("open")),
  FLOE_AUTO_SIGN_IN: on,
  FLOE_PASSWORD_RESET: on,
  FLOE_EMAIL_VERIFICATION: z.preprocess(convertBlank, z.enum(["off", "on", "required"]).default("on")),
  FLOE_CHANGE_EMAIL: on,
  FLOE_DELETE_USER: on,
  FLOE_ANONYMOUS_SIGN_IN: on,
  FLOE_OIDC: z.preprocess(convertBlank, list),
  FLOE_TRUSTED_PROVIDERS: z.preprocess(convertBlank, list),
  FLOE_SOCIAL_SIGN_UP: z.preprocess(convertBlank, z.enum(["open", "requested", "closed"]).default("open")),
  FLOE_LINK_DIFFERENT_EMAILS: z.preprocess(convertBlank, z.stringbool().default(false)),
  FLOE_DEVICE_FLOW: z.preprocess(convertBlank, z.enum(["standard", "hardened"]).default("standard")),
  FLOE_DEVICE_CODE_LASTS: isLasting(60_000, 24 * 3_600_000, "is a time from 1m to 24h, as 30m"),
  FLOE_DEVICE_INTERVAL: isLasting(1000, 60_000, "is a time from 1s to 60s, as 5s"),
  FLOE_USER_FIELDS: z.preprocess(convertBlank, z.string().transform(readWith(readUserFields)).prefault("{}")),
  FLOE_SESSION_MAX_DAYS: z.preprocess(convertBlank, z.coerce.number().int().min(1).max(365).default(30)),
  FLOE_ADMIN_USER_IDS: z.preprocess(convertBlank, z.string().default("")),
  LOG_LEVEL: z.preprocess(convertBlank, z.enum(["silent", "error", "warn", "info", "debug"]).default("warn")),
});
/** The names of all settings. */
export const settingNames: readonly string[] = Object.keys(Settings.shape);
export type Settings = z.output<typeof Settings> & { openid: OpenIdSettings[] };

const openIdPart = z.object({
  /** The provider's own name for itself; where its discovery document lies follows from it. */
  ISSUER: z.preprocess(convertBlank, url),
  CLIENT_ID: z.preprocess(convertBlank, z.string()),
  CLIENT_SECRET: z.preprocess(convertBlank, z.string()),
  NAME: buildOptional(z.string()),
  SCOPES: z.preprocess(
    convertBlank,
    z
      .string()
      .default("openid email profile")
      .transform((text) => [...new Set(["openid", ...text.split(/[\s,]+/).filter((scope) => scope !== "")])]),
  ),
});
/** A service to sign in with that speaks OpenID Connect. */
export type OpenIdSettings = z.output<typeof openIdPart> & { id: string };

/** The settings as the server uses them: complete, with what follows from them worked out once. */
export type Config = Settings & {
  /** The public address, without a slash at the end. */
  url: string;
  /** What everything new is signed, hashed and sealed with. */
  secret: string;
  /** Where everybody sees the pictures of products; without a slash at the end. */
  media_url: string;
  /** `secret`, then those before it, by which older things are still known. */
  secrets: readonly string[];
  /** Users who administer the platform, whatever their role says. */
  admin_user_ids: string[];
  /** True when the database runs in this process, in the data folder. */
  embedded: boolean;
  /** True when only this machine can reach the server: it is bound to loopback, and its public address is no other. */
  loopback: boolean;
  /**
   * True on a developer's own machine, with the embedded database and on loopback. Here alone are there a demo shop and an
   * inbox that anybody reads, receivers on private addresses, and no limit on requests.
   */
  development: boolean;
  /** Whether the test processor may pay for organizations that are no sandbox; on a public server only where it is set. */
  test_cards: boolean;
  /** How often whoever calls /v1 may do so; 0 for as often as they like. */
  requests_per_minute: number;
};

/** A setting that cannot be used: one line for the person who starts the server. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Of production (API-01). While developing there is no limit. */
const requestsPerMinuteStandard = 500;

/** What is unsafe or unfinished about how a server is set up, for whoever starts it and for /readyz. */
export function listWarnings(config: Config): string[] {
  const { FLOE_MAINTENANCE } = config;
  const paused = "FLOE_MAINTENANCE is on: nothing that is due runs, and requests that change something are refused.";
  return [...(FLOE_MAINTENANCE ? [paused] : []), ...listCardWarnings(config)];
}

function listCardWarnings({ FLOE_BILLING, STRIPE_SECRET_KEY, loopback, test_cards }: Config): string[] {
  if (FLOE_BILLING !== "embedded" || STRIPE_SECRET_KEY || loopback) return [];
  return test_cards
    ? ["FLOE_TEST_CARDS is on: on this public server anyone can buy anything with a test card, and no money is taken."]
    : [
        "No card processor is set up: checkouts that cost something are refused. Set STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY, or FLOE_TEST_CARDS=on to sell with test cards.",
      ];
}

/** Read and check every setting; flags (`given`) win over the environment. The only reader of the environment. */
export function readSettings(
  given: Record<string, string | undefined> = {},
  env: Record<string, string | undefined> = process.env,
): Settings {
  const named = Object.fromEntries(Object.keys(Settings.shape).map((name) => [name, given[name] ?? env[name]]));
  const result = Settings.safeParse(named);
  if (!result.success) {
    const lines = result.error.issues.map((issue) => `${issue.path.join(".")}: ${describeIssue(issue)}`);
    throw new ConfigError(`Wrong setting. ${lines.join("; ")}`);
  }
  const { data } = result;
  const alone = splitHalves(data);
  if (alone) throw new ConfigError(alone);
  const openid = data.FLOE_OIDC.map((id) => readOpenId(id, (name) => given[name] ?? env[name]));
  if (new Set(data.FLOE_OIDC).size < openid.length) throw new ConfigError("FLOE_OIDC names a provider twice.");
  if (data.FLOE_BILLING === "polar" && !data.POLAR_ACCESS_TOKEN)
    throw new ConfigError("FLOE_BILLING=polar needs POLAR_ACCESS_TOKEN: an access token of an organization at Polar.");
  const { STRIPE_SECRET_KEY, STRIPE_PUBLISHABLE_KEY } = result.data;
  if (Boolean(STRIPE_SECRET_KEY) !== Boolean(STRIPE_PUBLISHABLE_KEY))
    throw new ConfigError("STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY go together: set both or neither.");
  // Cards would be collected in the one mode and charged in the other.
  if (STRIPE_SECRET_KEY?.includes("_live_") !== STRIPE_PUBLISHABLE_KEY?.includes("_live_"))
    throw new ConfigError("STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY are of one mode: both live or both test.");
  if (data.FLOE_TAX === "stripe" && !STRIPE_SECRET_KEY)
    throw new ConfigError(
      "FLOE_TAX=stripe needs STRIPE_SECRET_KEY: Stripe Tax is asked with the account that takes the money.",
    );
  return { ...data, openid };
}

/** The folders in which a shell looks for a command. Not of a copy of the environment: Windows writes `Path`. */
export const getSearchPath = (): string => process.env.PATH ?? "";

/** The environment of a program that this process starts. */
export const buildEnvironment = (more: Record<string, string>): NodeJS.ProcessEnv => ({ ...process.env, ...more });

/** What is set of a service without the rest that it needs. */
function splitHalves(settings: z.output<typeof Settings>): string | undefined {
  for (const name of ["GITHUB", "GOOGLE", "DISCORD"] as const) {
    if (Boolean(settings[`${name}_CLIENT_ID`]) !== Boolean(settings[`${name}_CLIENT_SECRET`]))
      return `${name}_CLIENT_ID and ${name}_CLIENT_SECRET go together: set both or neither.`;
  }
  if (Boolean(settings.GITHUB_APP_ID) !== Boolean(settings.GITHUB_APP_PRIVATE_KEY))
    return "GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY go together: set both or neither.";
  if (settings.GITHUB_APP_ID && !settings.GITHUB_CLIENT_ID)
    return "GITHUB_APP_ID needs GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET: sellers sign in with GitHub to show who they are.";
  const { S3_BUCKET, S3_ENDPOINT, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY } = settings;
  const bucket = [S3_BUCKET, S3_ACCESS_KEY_ID, S3_SECRET_ACCESS_KEY].filter(Boolean).length;
  if (bucket !== 3 && (bucket > 0 || S3_ENDPOINT))
    return "S3_BUCKET, S3_ACCESS_KEY_ID and S3_SECRET_ACCESS_KEY go together: set all of them or none.";
  if (settings.DISCORD_BOT_TOKEN && !settings.DISCORD_CLIENT_ID)
    return "DISCORD_BOT_TOKEN needs DISCORD_CLIENT_ID and DISCORD_CLIENT_SECRET: those of the bot's own application.";
  const { APPLE_CLIENT_ID, APPLE_CLIENT_SECRET, APPLE_TEAM_ID, APPLE_KEY_ID, APPLE_PRIVATE_KEY } = settings;
  const parts = [APPLE_TEAM_ID, APPLE_KEY_ID, APPLE_PRIVATE_KEY].filter((part) => part !== undefined).length;
  const isWhole = APPLE_CLIENT_SECRET === undefined ? parts === 3 : parts === 0;
  const isUnset = !APPLE_CLIENT_ID && APPLE_CLIENT_SECRET === undefined && parts === 0;
  if (isUnset || (APPLE_CLIENT_ID && isWhole)) return undefined;
  return "APPLE_CLIENT_ID needs APPLE_TEAM_ID, APPLE_KEY_ID and APPLE_PRIVATE_KEY, or APPLE_CLIENT_SECRET in their place.";
}

const builtIn = new Set(["github", "google", "discord", "apple", "credential"]);

/** The settings of one provider of FLOE_OIDC: OIDC_<ID>_ISSUER and so on. */
function readOpenId(id: string, read: (name: string) => string | undefined): OpenIdSettings {
  if (!/^[a-z0-9]+(-[a-z0-9]+)*$/.test(id) || builtIn.has(id))
    throw new ConfigError(`FLOE_OIDC: ${id} cannot name a provider. Use lower-case letters, digits and single dashes.`);
  const prefix = `OIDC_${id.toUpperCase().replaceAll("-", "_")}_`;
  const part = Object.fromEntries(Object.keys(openIdPart.shape).map((name) => [name, read(prefix + name)]));
  const result = openIdPart.safeParse(part);
  if (result.success) return { ...result.data, id };
  const isMissing = (name: PropertyKey | undefined) => !part[String(name)];
  const lines = result.error.issues.map(({ path: [name], message }) =>
    isMissing(name) ? `${prefix}${String(name)} is missing` : `${prefix}${String(name)}: ${message}`,
  );
  throw new ConfigError(`FLOE_OIDC names ${id}, which is not set up. ${lines.join("; ")}`);
}

/** How the server uses PostgreSQL. */
export const getDatabaseOptions = (
  config: Pick<Settings, Extract<keyof Settings, `FLOE_DATABASE_${string}`> | "FLOE_PROCESS">,
) => ({
  connections: config.FLOE_DATABASE_CONNECTIONS,
  statementTimeoutMs: config.FLOE_DATABASE_STATEMENT_SECONDS * 1000,
  waitTimeoutMs: config.FLOE_DATABASE_WAIT_SECONDS * 1000,
  startTimeoutMs: config.FLOE_DATABASE_START_SECONDS * 1000,
  applicationName: config.FLOE_DATABASE_APPLICATION_NAME ?? `floe ${config.FLOE_PROCESS} ${process.pid}`,
  migrationUrl: config.FLOE_DATABASE_MIGRATION_URL,
});

/** Complete the settings. `generatedSecret` is the one kept in the data folder of an embedded database. */
export function completeConfig(settings: Settings, generatedSecret?: string): Config {
  const embedded = settings.DATABASE_URL === undefined;
  const secret = settings.FLOE_SECRET ?? (embedded ? generatedSecret : undefined);
  if (!secret)
    throw new ConfigError("FLOE_SECRET is required with DATABASE_URL: at least 32 random characters, kept secret.");
  const host = settings.HOST.includes(":") ? `[${settings.HOST}]` : settings.HOST;
  const shown =
    settings.HOST === "0.0.0.0" || settings.HOST === "127.0.0.1" || settings.HOST === "::" ? "localhost" : host;
  const address = (settings.FLOE_URL ?? `http://${shown}:${settings.PORT}`).replace(/\/+$/, "");
  // Behind an address of its own stands a proxy, and behind that everybody.
  const loopback = isLoopbackHost(settings.HOST) && isLoopbackUrl(address);
  const development = embedded && loopback;
  return {
    ...settings,
    secret,
    media_url: (settings.FLOE_MEDIA_URL ?? `${address}/media`).replace(/\/+$/, ""),
    secrets: [...new Set([secret, ...splitList(settings.FLOE_SECRET_PREVIOUS)])],
    admin_user_ids: splitList(settings.FLOE_ADMIN_USER_IDS),
    embedded,
    url: address,
    loopback,
    development,
    test_cards: settings.FLOE_TEST_CARDS ?? loopback,
    requests_per_minute: settings.FLOE_REQUESTS_PER_MINUTE ?? (development ? 0 : requestsPerMinuteStandard),
  };
}
