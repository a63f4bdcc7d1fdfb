/** Benefits as people write them: what each type gives, flag by flag. */
import { rejectText, type Shorthand } from "../shorthand.ts";

const readProperty = (type: string, name: string, rest: Omit<Shorthand, "writes" | "flag" | "of">): Shorthand => ({
  flag: name.replaceAll("_", "-"),
  writes: [`properties.${name}`],
  of: [type],
  ...rest,
});

function readExpires(text: string): Record<string, unknown> {
  if (text === "never") return { properties: { expires: null } };
  const [, ttl, timeframe] = /^([1-9]\d{0,4})\s*(day|month|year)s?$/.exec(text.trim().toLowerCase()) ?? [];
  if (!timeframe) return rejectText(text, "is not a time", "Write 30days, 6months, 1year, or never.");
  return { properties: { expires: { ttl: Number(ttl), timeframe } } };
}

function readActivations(text: string): Record<string, unknown> {
  if (text === "none") return { properties: { activations: null } };
  if (!/^[1-9]\d{0,9}$/.test(text)) return rejectText(text, "is not a number above 0", "Write 3, or none.");
  return { properties: { activations: { limit: Number(text) } } };
}

function readRepository(text: string): Record<string, unknown> {
  const [, repository_owner, repository_name] =
    /^(?:https:\/\/github\.com\/)?([^/\s]+)\/([^/\s]+?)(?:\.git|\/)?$/.exec(text.trim()) ?? [];
  if (!repository_owner || !repository_name) return rejectText(text, "is not a repository", "Write owner/name.");
  return { properties: { repository_owner, repository_name } };
}

/** What is typed for a benefit. */
export const benefits: Record<string, Shorthand> = {
  note: readProperty("custom", "note", { kind: "text", description: "what the buyer is told" }),
  prefix: readProperty("license_keys", "prefix", { kind: "text", description: "what keys begin with" }),
  expires: readProperty("license_keys", "expires", {
    placeholder: "1year",
    description: "how long a key is good: 30days, 6months, 1year, or never",
    read: readExpires,
  }),
  activations: readProperty("license_keys", "activations", {
    placeholder: "number",
    description: "on how many machines a key can be activated, or none",
    fills: { "properties.activations.enable_customer_admin": false },
    read: readActivations,
  }),
  customer_admin: {
    flag: "customer-admin",
    kind: "boolean",
    description: "whether customers can end their activations; goes with --activations",
    writes: ["properties.activations.enable_customer_admin"],
    of: ["license_keys"],
  },
  limit_usage: readProperty("license_keys", "limit_usage", {
    kind: "integer",
    nullable: true,
    description: "how often a key can be used, or none for no end",
  }),
  files: readProperty("downloadables", "files", {
    kind: "list",
    refers: "files",
    description: "the files, by name or id",
  }),
  meter: {
    flag: "meter",
    placeholder: "meter",
    kind: "text",
    refers: "meters",
    description: "the meter that is credited, by name or id",
    writes: ["properties.meter_id"],
    of: ["meter_credit"],
  },
  units: readProperty("meter_credit", "units", { kind: "integer", description: "how many units" }),
  rollover: readProperty("meter_credit", "rollover", {
    kind: "boolean",
    description: "whether units left over are kept for the next period",
  }),
  guild_token: readProperty("discord", "guild_token", {
    kind: "text",
    description: "the token of your server, from the installation of the bot",
  }),
  role_id: readProperty("discord", "role_id", { kind: "text", description: "the number of the role" }),
  kick_member: readProperty("discord", "kick_member", {
    kind: "boolean",
    description: "whether members are removed when they lose it",
  }),
  repository: {
    flag: "repository",
    placeholder: "owner/name",
    description: "the repository",
    writes: ["properties.repository_owner", "properties.repository_name"],
    of: ["github_repository"],
    read: readRepository,
  },
  permission: readProperty("github_repository", "permission", {
    kind: "text",
    choices: ["pull", "triage", "push", "maintain", "admin"],
    description: "what they may do",
  }),
};
