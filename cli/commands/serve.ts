/** `floe serve`: the server in this process. Every setting of the environment is a flag here too. */
import { type Command, Option } from "commander";
import type { Context } from "../context.ts";

type Setting = { name: string; flag: string; about: string; choices?: string[] };

/** Every setting, as a flag; `tests/cli/serve.test.ts` holds that none is missing. */
export const settings: Setting[] = [
  { name: "HOST", flag: "--host <address>", about: "the address to listen on (127.0.0.1)" },
  { name: "PORT", flag: "--port <number>", about: "the port to listen on (4455)" },
  { name: "FLOE_URL", flag: "--url <url>", about: "the address under which others reach it" },
  { name: "FLOE_DATA_DIR", flag: "--data-dir <folder>", about: "where the embedded database is kept (.floe)" },
  { name: "DATABASE_URL", flag: "--database-url <url>", about: "a PostgreSQL database, instead of the embedded one" },
  {
    name: "FLOE_DATABASE_CONNECTIONS",
    flag: "--database-connections <number>",
    about: "connections to PostgreSQL at most (10)",
  },
  {
    name: "FLOE_DATABASE_STATEMENT_SECONDS",
    flag: "--database-statement-seconds <number>",
    about: "how long a statement of a request may take (7)",
  },
  {
    name: "FLOE_DATABASE_WAIT_SECONDS",
    flag: "--database-wait-seconds <number>",
    about: "how long a request waits for a connection (4)",
  },
  {
    name: "FLOE_DATABASE_START_SECONDS",
    flag: "--database-start-seconds <number>",
    about: "how long a start waits for the database (300)",
  },
  {
    name: "FLOE_DATABASE_APPLICATION_NAME",
    flag: "--database-application-name <text>",
    about: "the name of the process in pg_stat_activity",
  },
  {
    name: "FLOE_DATABASE_MIGRATION_URL",
    flag: "--database-migration-url <url>",
    about: "the database's address for migrations",
  },
  { name: "FLOE_MIGRATE", flag: "--migrate <on or off>", about: "migrate the database at the start (on)" },
  {
    name: "FLOE_OPS_ADDRESS",
    flag: "--ops-address <address>",
    about: "where metrics and health are served to operators, as 9464",
  },
  {
    name: "FLOE_MAIL_BOUNCE_SECRET",
    flag: "--mail-bounce-secret <secret>",
    about: "the secret of a mail service that sends notices of bounces",
  },
  { name: "FLOE_OTLP_URL", flag: "--otlp-url <url>", about: "where traces and metrics are sent by OpenTelemetry" },
  {
    name: "FLOE_OTLP_TRACES",
    flag: "--otlp-traces <share>",
    about: "the share of the traces that is sent, 0 to 1 (1)",
  },
  { name: "FLOE_NOTIFY", flag: "--notify <on or off>", about: "wake the workers and streams of other servers (on)" },
  { name: "FLOE_REQUEST_LOG", flag: "--request-log <on or off>", about: "one line in the log for each request (off)" },
  {
    name: "FLOE_PROCESS",
    flag: "--process <what>",
    about: "what this process does",
    choices: ["all", "api", "worker"],
  },
  {
    name: "FLOE_DRAIN_SECONDS",
    flag: "--drain-seconds <number>",
    about: "how long requests in progress have to finish when it stops (30)",
  },
  {
    name: "FLOE_DRAIN_NOTICE_SECONDS",
    flag: "--drain-notice-seconds <number>",
    about: "how long new requests are served before that, with PostgreSQL (5)",
  },
  { name: "FLOE_SECRET", flag: "--secret <text>", about: "the secret of the server; required with --database-url" },
  { name: "FLOE_SECRET_PREVIOUS", flag: "--secret-previous <texts>", about: "earlier secrets, while they are changed" },
  { name: "FLOE_BILLING", flag: "--billing <how>", about: "who keeps the books", choices: ["embedded", "polar"] },
  { name: "TRUST_PROXY", flag: "--trust-proxy <addresses>", about: "proxies whose X-Forwarded-* headers are believed" },
  {
    name: "FLOE_REQUESTS_PER_MINUTE",
    flag: "--requests-per-minute <number>",
    about: "how often one caller may ask /v1; 0 for no limit (500)",
  },
  {
    name: "FLOE_HEAVY_PER_ORGANIZATION",
    flag: "--heavy-per-organization <number>",
    about: "heavy requests of one organization at once (1)",
  },
  {
    name: "FLOE_TRUSTED_ARCHIVES",
    flag: "--trusted-archives <keys>",
    about: "keys of servers whose archives are restored here, by commas",
  },
  { name: "FLOE_CHECKOUT_HOURS", flag: "--checkout-hours <number>", about: "hours for which a checkout is open (24)" },
  { name: "FLOE_HEAVY_PER_SERVER", flag: "--heavy-per-server <number>", about: "heavy requests at once (4)" },
  {
    name: "FLOE_HEAVY_STATEMENT_SECONDS",
    flag: "--heavy-statement-seconds <number>",
    about: "how long one statement of them may take (60)",
  },
  {
    name: "FLOE_WEBHOOK_ALLOW",
    flag: "--webhook-allow <receivers>",
    about: "private receivers, as 10.0.0.0/8 or app:3000",
  },
  { name: "FLOE_WEBHOOK_PORTS", flag: "--webhook-ports <ports>", about: "further ports that receivers may have" },
  {
    name: "FLOE_TEST_CARDS",
    flag: "--test-cards <how>",
    about: "take test cards on a public server",
    choices: ["on", "off"],
  },
  { name: "FLOE_SESSION_MAX_DAYS", flag: "--session-max-days <days>", about: "when a session ends in any case (30)" },
  { name: "SMTP_URL", flag: "--smtp-url <url>", about: "where mail is sent" },
  { name: "MAIL_FROM", flag: "--mail-from <address>", about: "who mail is from" },
  { name: "STRIPE_SECRET_KEY", flag: "--stripe-secret-key <key>", about: "take payments through Stripe" },
  { name: "STRIPE_PUBLISHABLE_KEY", flag: "--stripe-publishable-key <key>", about: "the public key that goes with it" },
  { name: "STRIPE_WEBHOOK_SECRET", flag: "--stripe-webhook-secret <secret>", about: "the secret of Stripe's webhooks" },
  { name: "STRIPE_API_URL", flag: "--stripe-api-url <url>", about: "the address of Stripe's API, or of a stand-in" },
  { name: "FLOE_TAX", flag: "--tax <how>", about: "who computes tax", choices: ["registrations", "stripe"] },
  { name: "POLAR_ACCESS_TOKEN", flag: "--polar-access-token <token>", about: "the token for --billing polar" },
  { name: "POLAR_URL", flag: "--polar-url <url>", about: "the address of Polar's API" },
  {
    name: "POLAR_WEBHOOK_SECRET",
    flag: "--polar-webhook-secret <secrets>",
    about: "what Polar signs its events with, the newest first",
  },
  {
    name: "POLAR_CHECK",
    flag: "--polar-check <how>",
    about: "what to do with an answer of Polar that has the wrong shape (strict)",
    choices: ["strict", "report"],
  },
  { name: "POLAR_TIMEOUT_MS", flag: "--polar-timeout-ms <ms>", about: "how long Polar may take to answer (10000)" },
  { name: "POLAR_CONCURRENCY", flag: "--polar-concurrency <number>", about: "requests to Polar at once (20)" },
  { name: "GITHUB_CLIENT_ID", flag: "--github-client-id <id>", about: "sign-in with GitHub" },
  { name: "GITHUB_CLIENT_SECRET", flag: "--github-client-secret <secret>", about: "its secret" },
  { name: "GITHUB_APP_ID", flag: "--github-app-id <id>", about: "its GitHub app, which lets buyers into repositories" },
  { name: "GITHUB_APP_PRIVATE_KEY", flag: "--github-app-private-key <pem>", about: "the app's key" },
  { name: "GOOGLE_CLIENT_ID", flag: "--google-client-id <id>", about: "sign-in with Google" },
  { name: "GOOGLE_CLIENT_SECRET", flag: "--google-client-secret <secret>", about: "its secret" },
  { name: "DISCORD_CLIENT_ID", flag: "--discord-client-id <id>", about: "sign-in with Discord" },
  { name: "DISCORD_CLIENT_SECRET", flag: "--discord-client-secret <secret>", about: "its secret" },
  { name: "DISCORD_BOT_TOKEN", flag: "--discord-bot-token <token>", about: "its bot, which gives roles to buyers" },
  { name: "APPLE_CLIENT_ID", flag: "--apple-client-id <id>", about: "sign-in with Apple" },
  { name: "APPLE_CLIENT_SECRET", flag: "--apple-client-secret <secret>", about: "its secret, where there is no key" },
  { name: "APPLE_TEAM_ID", flag: "--apple-team-id <id>", about: "the team that its key is of" },
  { name: "APPLE_KEY_ID", flag: "--apple-key-id <id>", about: "the id of its key" },
  { name: "APPLE_PRIVATE_KEY", flag: "--apple-private-key <pem>", about: "its key" },
  { name: "GITHUB_URL", flag: "--github-url <url>", about: "GitHub's pages (https://github.com)" },
  { name: "GITHUB_API_URL", flag: "--github-api-url <url>", about: "its API (https://api.github.com)" },
  { name: "GOOGLE_URL", flag: "--google-url <url>", about: "Google's issuer (https://accounts.google.com)" },
  { name: "DISCORD_URL", flag: "--discord-url <url>", about: "Discord (https://discord.com)" },
  { name: "APPLE_URL", flag: "--apple-url <url>", about: "Apple's issuer (https://appleid.apple.com)" },
  { name: "FLOE_OIDC", flag: "--oidc <names>", about: "OpenID providers, set up as OIDC_<NAME>_ISSUER and so on" },
  { name: "FLOE_ANONYMOUS_SIGN_IN", flag: "--anonymous-sign-in <on or off>", about: "signing in as a guest (on)" },
  {
    name: "FLOE_SOCIAL_SIGN_UP",
    flag: "--social-sign-up <who>",
    about: "who makes an account by signing in with a service",
    choices: ["open", "requested", "closed"],
  },
  {
    name: "FLOE_TRUSTED_PROVIDERS",
    flag: "--trusted-providers <names>",
    about: "services whose addresses are believed",
  },
  {
    name: "FLOE_LINK_DIFFERENT_EMAILS",
    flag: "--link-different-emails <on or off>",
    about: "link accounts of other addresses (off)",
  },
  { name: "POLAR_ORGANIZATION", flag: "--polar-organization <id>", about: "the organization that may use Polar" },
  {
    name: "FLOE_EVENTS_KEPT_MONTHS",
    flag: "--events-kept-months <months>",
    about: "drop usage events that came longer ago",
  },
  { name: "FLOE_FILES_DIR", flag: "--files-dir <folder>", about: "where uploaded files are kept" },
  {
    name: "FLOE_BACKUPS_DIR",
    flag: "--backups-dir <folder>",
    about: "where your backups are, so that floe doctor warns of old ones",
  },
  {
    name: "FLOE_MAINTENANCE",
    flag: "--maintenance <on or off>",
    about: "answer reads alone, and run nothing that is due (off)",
  },
  { name: "S3_BUCKET", flag: "--s3-bucket <name>", about: "keep them in this bucket instead" },
  { name: "S3_REGION", flag: "--s3-region <region>", about: "its region (us-east-1)" },
  { name: "S3_ENDPOINT", flag: "--s3-endpoint <url>", about: "its store, where that is not AWS" },
  { name: "S3_ACCESS_KEY_ID", flag: "--s3-access-key-id <id>", about: "the key for it" },
  { name: "S3_SECRET_ACCESS_KEY", flag: "--s3-secret-access-key <secret>", about: "the key's secret" },
  { name: "FLOE_MEDIA_URL", flag: "--media-url <url>", about: "where pictures of products are seen" },
  { name: "FLOE_PASSWORD_SIGN_IN", flag: "--password-sign-in <on or off>", about: "signing in with a password (on)" },
  { name: "FLOE_SIGN_UP", flag: "--sign-up <who>", about: "who makes an account", choices: ["open", "closed"] },
  { name: "FLOE_AUTO_SIGN_IN", flag: "--auto-sign-in <on or off>", about: "signing up signs in (on)" },
  { name: "FLOE_PASSWORD_RESET", flag: "--password-reset <on or off>", about: "resetting passwords by mail (on)" },
  {
    name: "FLOE_EMAIL_VERIFICATION",
    flag: "--email-verification <how>",
    about: "confirming addresses by mail (on)",
    choices: ["off", "on", "required"],
  },
  { name: "FLOE_CHANGE_EMAIL", flag: "--change-email <on or off>", about: "changing one's address (on)" },
  { name: "FLOE_DELETE_USER", flag: "--delete-user <on or off>", about: "deleting one's account (on)" },
  {
    name: "FLOE_DEVICE_FLOW",
    flag: "--device-flow <how>",
    about: "how terminals are signed in (standard)",
    choices: ["standard", "hardened"],
  },
  { name: "FLOE_DEVICE_CODE_LASTS", flag: "--device-code-lasts <time>", about: "how long their codes live (30m)" },
  { name: "FLOE_DEVICE_INTERVAL", flag: "--device-interval <time>", about: "how often they may ask (5s)" },
  { name: "FLOE_USER_FIELDS", flag: "--user-fields <json>", about: "more fields that users have" },
  { name: "FLOE_ADMIN_USER_IDS", flag: "--admin-user-ids <ids>", about: "who administers the platform" },
  {
    name: "LOG_LEVEL",
    flag: "--log-level <level>",
    about: "how much is logged",
    choices: ["silent", "error", "warn", "info", "debug"],
  },
];

/** The flags that were given, by the names of their settings. */
export function readServeSettings(
  options: Record<string, unknown>,
  command: Command,
): Record<string, string | undefined> {
  const attributes = new Map(command.options.map((option) => [option.flags, option.attributeName()]));
  return Object.fromEntries(
    settings.flatMap(({ name, flag }) => {
      const value = options[attributes.get(flag) ?? ""];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

/** Short for `--process`. */
const processes = {
  api: "answer requests, and leave background work to other processes",
  worker: "work in the background, and answer no requests",
  all: "do both (the default)",
};

export function add(root: Command, _contextOf: (command: Command) => Context): void {
  const command = root
    .command("serve")
    .description("Run the server. Flags win over the environment; secrets are better kept in the environment.");
  for (const { name, flag, about, choices } of settings) {
    const option = new Option(flag, `${about} (${name})`);
    if (choices) option.choices(choices);
    command.addOption(option);
  }
  for (const [what, about] of Object.entries(processes))
    command.addOption(new Option(`--${what}`, about).implies({ process: what }));
  command.addHelpText(
    "after",
    "\nExamples:\n  floe serve\n  floe serve --port 8080 --data-dir /var/lib/floe\n  DATABASE_URL=postgres://… FLOE_SECRET=… floe serve --host 0.0.0.0 --url https://floe.example.com",
  );
  command.action(async (options: Record<string, unknown>) => {
    // The server stops in its own way, with grace: the signals are its own from here.
    process.removeAllListeners("SIGINT");
    process.removeAllListeners("SIGTERM");
    const { serve } = await import("../../server/app/main.ts");
    await serve(readServeSettings(options, command));
    // The command ends with the server: by its own exit, or, when it could not start, because nothing is left to do.
    await new Promise(() => undefined);
  });
}
