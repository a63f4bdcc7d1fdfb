import { z } from "zod";

const blank = (value: unknown) => (value === "" ? undefined : value);
const optional = <T extends z.ZodType>(schema: T) => z.preprocess(blank, schema.optional());
const url = z.url({ protocol: /^https?$/ });

/** Every setting, by the name of its environment variable. `.env.example` says what each is for. */
const Settings = z.object({
  HOST: z.preprocess(blank, z.string().default("127.0.0.1")),
  PORT: z.preprocess(blank, z.coerce.number().int().min(0).max(65535).default(4455)),
  FLOE_URL: optional(url),
  FLOE_DATA_DIR: z.preprocess(blank, z.string().default(".floe")),
  DATABASE_URL: optional(z.string().regex(/^postgres(ql)?:\/\/\S+$/, "must begin with postgres:// or postgresql://")),
  FLOE_SECRET: optional(z.string().min(32, "must be at least 32 characters")),
  FLOE_BILLING: z.preprocess(blank, z.enum(["embedded", "polar"]).default("embedded")),
  TRUST_PROXY: optional(z.string()),
  FLOE_MEDIA_URL: optional(url),
  SMTP_URL: optional(z.string().regex(/^smtps?:\/\/\S+$/, "must begin with smtp:// or smtps://")),
  MAIL_FROM: z.preprocess(blank, z.string().default("floe <no-reply@localhost>")),
  STRIPE_SECRET_KEY: optional(z.string().startsWith("sk_", "must begin with sk_")),
  STRIPE_PUBLISHABLE_KEY: optional(z.string().startsWith("pk_", "must begin with pk_")),
  STRIPE_WEBHOOK_SECRET: optional(z.string().startsWith("whsec_", "must begin with whsec_")),
  POLAR_ACCESS_TOKEN: optional(z.string()),
  POLAR_URL: optional(url),
  POLAR_ORGANIZATION: optional(z.uuid()),
  GITHUB_CLIENT_ID: optional(z.string()),
  GITHUB_CLIENT_SECRET: optional(z.string()),
  GOOGLE_CLIENT_ID: optional(z.string()),
  GOOGLE_CLIENT_SECRET: optional(z.string()),
  DISCORD_CLIENT_ID: optional(z.string()),
  DISCORD_CLIENT_SECRET: optional(z.string()),
  FLOE_ADMIN_USER_IDS: z.preprocess(blank, z.string().default("")),
  LOG_LEVEL: z.preprocess(blank, z.enum(["silent", "error", "warn", "info", "debug"]).default("warn")),
});
export type Settings = z.output<typeof Settings>;

/** The settings as the server uses them: complete, with what follows from them worked out once. */
export type Config = Settings & {
  /** The public address, without a slash at the end. */
  url: string;
  secret: string;
  /** Where everybody sees the pictures of products; without a slash at the end. */
  media_url: string;
  /** Users who administer the platform, whatever their role says. */
  admin_user_ids: string[];
  /** True when the database runs in this process, in the data folder. */
  embedded: boolean;
  /** True when only this machine can reach the server. */
  loopback: boolean;
};

/** A setting that cannot be used: one line for the person who starts the server. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

const loopbackHosts = ["127.0.0.1", "localhost", "::1"];

/** Read and check every setting; flags (`given`) win over the environment. The only reader of the environment. */
export function readSettings(
  given: Record<string, string | undefined> = {},
  env: Record<string, string | undefined> = process.env,
): Settings {
  const named = Object.fromEntries(Object.keys(Settings.shape).map((name) => [name, given[name] ?? env[name]]));
  const result = Settings.safeParse(named);
  if (!result.success) {
    const lines = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`);
    throw new ConfigError(`Wrong setting. ${lines.join("; ")}`);
  }
  if (result.data.FLOE_BILLING === "polar" && !(result.data.POLAR_ACCESS_TOKEN && result.data.POLAR_ORGANIZATION)) {
    throw new ConfigError(
      "FLOE_BILLING=polar needs POLAR_ACCESS_TOKEN, and POLAR_ORGANIZATION: the id of the floe organization that may use it.",
    );
  }
  if (Boolean(result.data.STRIPE_SECRET_KEY) !== Boolean(result.data.STRIPE_PUBLISHABLE_KEY)) {
    throw new ConfigError("STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY go together: set both or neither.");
  }
  return result.data;
}

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
  return {
    ...settings,
    secret,
    media_url: (settings.FLOE_MEDIA_URL ?? `${address}/media`).replace(/\/+$/, ""),
    admin_user_ids: settings.FLOE_ADMIN_USER_IDS.split(",")
      .map((id) => id.trim())
      .filter((id) => id !== ""),
    embedded,
    url: address,
    loopback: loopbackHosts.includes(settings.HOST),
  };
}
