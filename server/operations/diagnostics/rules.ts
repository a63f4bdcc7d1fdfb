import type { Check } from "../../../shared/api/diagnostics.ts";
import type { Config } from "../../platform/config.ts";
import type { ProcessorSetup } from "../../platform/processors/processor.ts";
import { stripeEventTypes, stripeWebhookPath } from "../../platform/processors/stripe-event-types.ts";

const dayMs = 24 * 60 * 60 * 1000;
/** A mail that has waited for so long is late: the worker sends within seconds. */
export const lateMailMs = 10 * 60 * 1000;
/** A key that ends within two weeks is reported while there is time to replace it. */
export const keyEndsSoonMs = 14 * dayMs;
const gibibyte = 1024 ** 3;
const freeBytesMin = 0.2 * gibibyte;
const freeBytesLow = 1 * gibibyte;

export const buildCheck = (id: string, status: Check["status"], message: string, fix: string | null = null): Check => ({
  id,
  status,
  message,
  fix,
});

/** A fault that only matters for sales of real goods is a failure with `--go-live`, and a warning before. */
const getSeverity = (goLive: boolean): "failure" | "warning" => (goLive ? "failure" : "warning");

/** `count` with its noun: `1 job`, `2 jobs`. */
const formatCount = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** What is known of the money side of an organization and its server. */
export type SalesFacts = {
  sandbox: boolean;
  config: Pick<Config, "STRIPE_SECRET_KEY" | "test_cards" | "loopback" | "url" | "FLOE_BILLING">;
};

/** Whether the organization takes real money, and by which card processor. */
export function checkSales({ sandbox, config }: SalesFacts, goLive: boolean): Check[] {
  return [checkMode(sandbox, goLive), checkProcessor(sandbox, config, goLive), checkAddress(config, goLive)];
}

function checkMode(sandbox: boolean, goLive: boolean): Check {
  if (!sandbox) return buildCheck("mode", "ok", "This organization sells for real money.");
  if (!goLive) return buildCheck("mode", "ok", "This organization is a sandbox: no real money moves.");
  const message = "This organization is a sandbox: it can take test cards only.";
  return buildCheck("mode", "failure", message, "Choose the organization that sells: `floe orgs use SLUG`");
}

function checkProcessor(sandbox: boolean, config: SalesFacts["config"], goLive: boolean): Check {
  const set = (status: Check["status"], message: string, fix?: string) =>
    buildCheck("card_processor", status, message, fix);
  const keys = "Set STRIPE_SECRET_KEY and STRIPE_PUBLISHABLE_KEY to live keys, and restart the server.";
  if (config.FLOE_BILLING === "polar") return set("ok", "Hosted Polar takes the payments.");
  if (config.STRIPE_SECRET_KEY?.includes("_live_")) return set("ok", "Stripe takes payments with live keys.");
  if (config.STRIPE_SECRET_KEY)
    return set(getSeverity(goLive), "Stripe takes payments with test keys: no real money moves.", keys);
  if (sandbox && !goLive) return set("ok", "The built-in test processor takes test cards.");
  if (config.loopback)
    return goLive
      ? set("failure", "No card processor is set up: anyone can buy with a test card.", keys)
      : set("ok", "The built-in test processor takes test cards, on this machine only.");
  if (config.test_cards)
    return set(
      "failure",
      "FLOE_TEST_CARDS is on: on this public server anyone can buy anything with a test card.",
      `${keys} Remove FLOE_TEST_CARDS.`,
    );
  return set("failure", "No card processor is set up: checkouts that cost something are refused.", keys);
}

function checkAddress({ url, loopback }: SalesFacts["config"], goLive: boolean): Check {
  const fix = "Set FLOE_URL to the https address that buyers open, and restart the server.";
  if (loopback && goLive) return buildCheck("public_address", "failure", `Only this machine can open ${url}.`, fix);
  if (!loopback && !url.startsWith("https://"))
    return buildCheck("public_address", getSeverity(goLive), `Buyers open ${url} without encryption.`, fix);
  return buildCheck("public_address", "ok", `Links lead to ${url}.`);
}

/** What is known of a webhook endpoint; `outcomes` are those of its latest finished events, newest first. */
export type EndpointFacts = {
  id: string;
  url: string;
  enabled: boolean;
  events: readonly string[];
  outcomes: readonly (boolean | null)[];
  /** Events that were refused and are sent again later, and what the latest of them was answered with. */
  retried: { count: number; last_http_code: number | null };
  /** Events that wait for an attempt, and since when the oldest waits. */
  pending: number;
  oldest: Date | null;
};

/** Whether events reach the seller's receivers. */
export function checkEndpoints(endpoints: readonly EndpointFacts[], now: Date): Check[] {
  if (endpoints.length === 0)
    return [buildCheck("webhooks", "ok", "There is no webhook endpoint.", "Add one: `floe webhooks create`")];
  return endpoints.map((endpoint) => checkEndpoint(endpoint, now));
}

function checkEndpoint(endpoint: EndpointFacts, now: Date): Check {
  const { url, enabled, events, outcomes, retried, pending, oldest } = endpoint;
  const set = (status: Check["status"], message: string, fix?: string) =>
    buildCheck("webhooks", status, `${url}: ${message}`, fix);
  if (!enabled)
    return set(
      "failure",
      "switched off, no event is sent.",
      `Run: \`floe webhooks doctor ${url}\`, then \`floe webhooks enable ${url}\``,
    );
  if (events.length === 0)
    return set("warning", "listens to no event.", `Run: \`floe webhooks update ${url} --events order.paid\``);
  const failed = outcomes.filter((succeeded) => succeeded === false).length;
  const inspect = `Run: \`floe webhooks doctor ${url}\` and \`floe webhooks deliveries --succeeded false\``;
  if (failed > 0 && outcomes[0] === false)
    return set("failure", `the last event was not delivered, and ${failed} of the last ${outcomes.length}.`, inspect);
  if (failed > 0)
    return set("warning", `${failed} of the last ${formatCount(outcomes.length, "event")} not delivered.`, inspect);
  if (retried.count > 0) {
    const { count, last_http_code: code } = retried;
    const answer = code === null ? "it did not answer" : `it answered ${code}`;
    const waits = count === 1 ? "waits to be sent again" : "wait to be sent again";
    return set("warning", `${formatCount(count, "event")} ${waits}: ${answer}.`, inspect);
  }
  if (oldest && now.getTime() - oldest.getTime() > lateMailMs)
    return set("warning", `${formatCount(pending, "event")} wait, the oldest since ${oldest.toISOString()}.`, inspect);
  return set(
    "ok",
    `listens to ${formatCount(events.length, "event type")}, ${outcomes.length === 0 ? "none was sent yet" : "all delivered"}.`,
  );
}

/** The keys of an organization by their end. */
export type KeyFacts = { name: string | null; start: string | null; expires_at: Date | null };

/** Whether keys have ended or end soon. */
export function checkKeys(keys: readonly KeyFacts[], now: Date): Check {
  const ending = keys.filter(({ expires_at }) => expires_at && expires_at.getTime() < now.getTime() + keyEndsSoonMs);
  if (ending.length === 0)
    return buildCheck("api_keys", "ok", `${formatCount(keys.length, "API key")}, none ends within 14 days.`);
  const names = ending.slice(0, 5).map(({ name, start, expires_at }) => {
    const at = (expires_at ?? now).getTime() <= now.getTime() ? "ended" : "ends";
    return `${name ?? start ?? "a key"} (${at} ${expires_at?.toISOString().slice(0, 10) ?? ""})`;
  });
  return buildCheck(
    "api_keys",
    "warning",
    `${formatCount(ending.length, "API key")}: ${names.join(", ")}.`,
    "Replace it: `floe api-keys rotate NAME`",
  );
}

/** Whether money moves, or is held because the books break a rule (RST-10). */
export const checkMoney = (held_at: Date | null): Check =>
  held_at === null
    ? buildCheck("money", "ok", "The books keep every rule that was checked.")
    : buildCheck(
        "money",
        "failure",
        `Nothing has been charged or refunded since ${held_at.toISOString()}: the books break a rule.`,
        "Ask the operator of the server, who sees why: `floe admin money-holds`",
      );

/** Whether background jobs of the organization, or of the whole server, have been given up. */
export function checkDeadLetters(
  id: "dead_letters" | "server_dead_letters",
  count: number,
  kinds: readonly string[],
): Check {
  const isOfServer = id === "server_dead_letters";
  const whose = isOfServer ? "the server" : "this organization";
  if (count === 0) return buildCheck(id, "ok", `No background job of ${whose} has been given up.`);
  const message = `${formatCount(count, "background job")} of ${whose} given up after a day of retries: ${kinds.join(", ")}.`;
  const fix = isOfServer
    ? "Read the server's log for the cause, then retry them: `floe admin retry`"
    : "Ask who operates the server to read its log and retry them: `floe admin retry`";
  return buildCheck(id, "failure", message, fix);
}

/** What only the operator of the server may know. */
export type ServerFacts = {
  config: Pick<
    Config,
    "SMTP_URL" | "development" | "TRUST_PROXY" | "url" | "loopback" | "MAIL_FROM" | "STRIPE_WEBHOOK_SECRET"
  >;
  isWorking: boolean;
  isForwarded: boolean;
  client_address: string;
  lateMails: number;
  disks: readonly { folder: string; free_bytes: number }[];
  /** Why the storage failed; null if it works. */
  storageFault: string | null;
  /** The time of the newest backup; null if there is none, undefined if FLOE_BACKUPS_DIR is not set. */
  backedUpAt: Date | null | undefined;
  /** What a restore has left to be settled by hand: how many of each outcome. */
  leftOver: Readonly<Record<string, number>> | null;
  /** The set-up at the card processor, why it cannot be read, or null if there is no card processor. */
  processor: ProcessorSetup | { fault: string } | null;
};

/** Whether the server itself is set up and healthy. */
export function checkServer(facts: ServerFacts, now: Date, goLive: boolean): Check[] {
  return [
    facts.isWorking
      ? buildCheck("worker", "ok", "Background jobs run.")
      : buildCheck("worker", "failure", "Background jobs do not run.", "Restart the server."),
    checkProxy(facts),
    checkMail(facts, goLive),
    ...facts.disks.map(checkDisk),
    facts.storageFault === null
      ? buildCheck("storage", "ok", "Files can be written, read and removed.")
      : buildCheck(
          "storage",
          "failure",
          `The file storage fails: ${facts.storageFault}`,
          "Check FLOE_FILES_DIR, or the S3_… settings.",
        ),
    checkBackups(facts.backedUpAt, now, goLive),
    ...checkLeftOver(facts.leftOver),
    ...checkProcessorSetup(facts),
  ];
}

function checkProxy({ config, isForwarded, client_address }: ServerFacts): Check {
  const set = (status: Check["status"], message: string, fix?: string) => buildCheck("proxy", status, message, fix);
  if (isForwarded && !config.TRUST_PROXY)
    return set(
      "warning",
      `A proxy forwards requests, and all buyers seem to have its address, ${client_address}.`,
      "Set TRUST_PROXY to the address of the proxy, and restart the server.",
    );
  if (!isForwarded && config.TRUST_PROXY)
    return set(
      "warning",
      "TRUST_PROXY is set, but this request carries no X-Forwarded-For.",
      "Let the proxy set X-Forwarded-For, or remove TRUST_PROXY.",
    );
  return set("ok", `Your requests come from ${client_address}${isForwarded ? ", by a trusted proxy" : ""}.`);
}

function checkMail({ config, lateMails }: ServerFacts, goLive: boolean): Check {
  const set = (status: Check["status"], message: string, fix?: string) => buildCheck("mail", status, message, fix);
  const setting = "Set SMTP_URL and MAIL_FROM, restart the server, and run: `floe doctor --mail`";
  if (!config.SMTP_URL && config.development && !goLive)
    return set("ok", `Mails are not sent: read them at ${config.url}/mail.`);
  if (!config.SMTP_URL) return set("failure", "No mail is sent: SMTP_URL is not set.", setting);
  if (lateMails > 0)
    return set(
      "failure",
      `${formatCount(lateMails, "mail")} could not be sent for ten minutes or longer.`,
      "Read the server's log, and run: `floe doctor --mail`",
    );
  if (/@localhost\b/.test(config.MAIL_FROM))
    return set(
      getSeverity(goLive),
      `Mails are from ${config.MAIL_FROM}, to which nobody can answer.`,
      "Set MAIL_FROM, and restart the server.",
    );
  return set("ok", "A mail server is set. A test message: `floe doctor --mail`");
}

function checkDisk({ folder, free_bytes }: ServerFacts["disks"][number]): Check {
  const tenths = Number(((free_bytes / gibibyte) * 10).toString().split(".")[0]);
  const message = `${tenths / 10} GiB free for ${folder}.`;
  const fix = "Free space, or move the folder to a larger disk.";
  if (free_bytes < freeBytesMin) return buildCheck("disk", "failure", message, fix);
  return free_bytes < freeBytesLow ? buildCheck("disk", "warning", message, fix) : buildCheck("disk", "ok", message);
}

function checkBackups(at: Date | null | undefined, now: Date, goLive: boolean): Check {
  const fix = 'Run your backup program, and see docs/deploying.md, "Backups".';
  if (at === undefined)
    return buildCheck(
      "backups",
      goLive ? "warning" : "skipped",
      "FLOE_BACKUPS_DIR is not set.",
      "Set FLOE_BACKUPS_DIR to the folder of your backups.",
    );
  if (at === null) return buildCheck("backups", "failure", "The folder of FLOE_BACKUPS_DIR has no file.", fix);
  if (now.getTime() - at.getTime() > dayMs)
    return buildCheck("backups", "failure", `The newest backup is of ${at.toISOString()}, more than a day ago.`, fix);
  return buildCheck("backups", "ok", `The newest backup is of ${at.toISOString()}.`);
}

/** What `floe admin reconcile` could not settle, until the operator says that it is. */
function checkLeftOver(left: ServerFacts["leftOver"]): Check[] {
  if (!left) return [];
  const counts = Object.entries(left).map(([outcome, count]) => `${count} ${outcome}`);
  const message = `Since a backup was restored, charges are left to be settled by hand: ${counts.join(", ")}.`;
  const fix = "See them: `floe admin reconcile --since TIME`. When they are settled: `floe admin settle-restore`";
  return [buildCheck("restore", "failure", message, fix)];
}

function checkProcessorSetup({ processor, config }: ServerFacts): Check[] {
  if (processor === null) return [];
  const set = (status: Check["status"], message: string, fix?: string) =>
    buildCheck("processor_webhook", status, message, fix);
  if ("fault" in processor)
    return [
      buildCheck(
        "processor_keys",
        "failure",
        `Stripe refuses the server's key: ${processor.fault}`,
        "Check STRIPE_SECRET_KEY. A restricted key needs to read webhook endpoints.",
      ),
    ];
  const keys = buildCheck("processor_keys", "ok", "Stripe accepts the server's key.");
  const address = `${config.url}${stripeWebhookPath}`;
  const own = processor.webhooks.find(({ url, isEnabled }) => url === address && isEnabled);
  if (!own)
    return [
      keys,
      set(
        "failure",
        `Stripe sends no events to ${address}.`,
        "Make it on the server's machine: `floe payments connect`",
      ),
    ];
  const missing = own.events.includes("*") ? [] : stripeEventTypes.filter((type) => !own.events.includes(type));
  if (missing.length > 0)
    return [
      keys,
      set(
        "failure",
        `Stripe does not send ${missing.join(", ")}.`,
        "Add them to the endpoint on the server's machine: `floe payments connect`",
      ),
    ];
  if (!config.STRIPE_WEBHOOK_SECRET)
    return [
      keys,
      set(
        "failure",
        "STRIPE_WEBHOOK_SECRET is not set: events of Stripe are refused.",
        "Set it to the endpoint's signing secret, and restart the server.",
      ),
    ];
  return [keys, set("ok", `Stripe sends all ${stripeEventTypes.length} event types.`)];
}
