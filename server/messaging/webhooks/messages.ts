/** What is said about events in chat channels, in the formats of Discord and Slack (WHK-21), and to sellers by mail. */
import { formatMoney } from "../../../shared/money.ts";
import type { Mail } from "../../platform/mail-transport/mail.ts";
import type { OutboxEvent } from "./rules.ts";

type Message = { title: string; text: string; facts: [name: string, value: string][] };
type Loose = Record<string, unknown>;

const accentColor = 0x3b5bdb;
const discord = { content: 2000, title: 256, description: 4096, field: 1024 } as const;
const slackTextMax = 3000;

const getIn = (value: unknown, ...path: string[]): unknown =>
  path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? (inner as Loose)[key] : undefined),
    value,
  );
const readText = (value: unknown): string => (typeof value === "string" ? value : "");
const formatAmount = (data: unknown, key: string): string => {
  const amount = getIn(data, key);
  return typeof amount === "number" ? formatMoney(amount, readText(getIn(data, "currency")) || "usd") : "";
};

const titles: Record<string, string> = {
  "order.created": "New order",
  "order.updated": "Order updated",
  "order.paid": "Order paid",
  "order.refunded": "Order refunded",
  "subscription.created": "New subscription",
  "subscription.updated": "Subscription updated",
  "subscription.active": "Subscription active",
  "subscription.canceled": "Subscription canceled",
  "subscription.uncanceled": "Subscription no longer canceled",
  "subscription.cycled": "Subscription renewed",
  "subscription.revoked": "Subscription ended",
  "subscription.past_due": "Subscription payment failed",
  "subscription.paused": "Subscription paused",
  "subscription.resumed": "Subscription resumed",
  "refund.created": "New refund",
  "refund.updated": "Refund updated",
};

/** A change that is no news in a channel: only the end of a subscription, coming or there, is worth a message. */
export function isQuiet({ type, data }: OutboxEvent): boolean {
  if (type !== "subscription.updated") return false;
  const ending = getIn(data, "ends_at") != null || getIn(data, "ended_at") != null;
  return !ending && getIn(data, "status") !== "past_due";
}

function getMessage(occurrence: OutboxEvent, organization: string): Message {
  const { type, data } = occurrence;
  const title = titles[type];
  const id = readText(getIn(data, "id"));
  if (title === undefined)
    return { title: type, text: `${type} in ${organization}`, facts: id ? [["Object", id]] : [] };
  const product = readText(getIn(data, "product", "name")) || readText(getIn(data, "description"));
  const customer = readText(getIn(data, "customer", "email")) || readText(getIn(data, "customer", "name"));
  const total = type.startsWith("order.") ? formatAmount(data, "total_amount") : formatAmount(data, "amount");
  const refunded = type === "order.refunded" ? formatAmount(data, "refunded_amount") : "";
  const facts: Message["facts"] = [
    ["Product", product],
    ["Amount", total],
    ["Refunded", refunded],
    ["Customer", customer],
    ["Reason", type.startsWith("refund.") ? readText(getIn(data, "reason")) : ""],
    ["Status", readText(getIn(data, "status"))],
    ["Invoice", readText(getIn(data, "invoice_number"))],
  ];
  const subject = [product, total].filter(Boolean).join(", ");
  return {
    title,
    text: `${title} in ${organization}${subject ? `: ${subject}` : ""}`,
    facts: facts.filter(([, value]) => value !== ""),
  };
}

/** An event in one line: what happened, and to what. */
export function formatEventText({ type, data }: Pick<OutboxEvent, "type" | "data">): string {
  const subject = [
    readText(getIn(data, "product", "name")) || readText(getIn(data, "description")) || readText(getIn(data, "name")),
    formatAmount(data, type.startsWith("order.") || type.startsWith("checkout.") ? "total_amount" : "amount"),
    readText(getIn(data, "customer", "email")) ||
      readText(getIn(data, "customer_email")) ||
      readText(getIn(data, "email")),
    readText(getIn(data, "status")),
  ].filter(Boolean);
  const [kind = "", happened = ""] = type.split(".");
  const words = `${kind} ${happened}`.replaceAll("_", " ");
  const title = titles[type] ?? words.charAt(0).toUpperCase() + words.slice(1);
  return subject.length > 0 ? `${title}: ${subject.join(", ")}` : title;
}

const buildDiscordBody = ({ title, text, facts }: Message, occurrence: OutboxEvent): object => ({
  content: text.slice(0, discord.content),
  // A product may be called @everyone.
  allowed_mentions: { parse: [] },
  embeds: [
    {
      title: title.slice(0, discord.title),
      description: text.slice(0, discord.description),
      color: accentColor,
      timestamp: occurrence.created_at.toISOString(),
      fields: facts.map(([name, value]) => ({ name, value: value.slice(0, discord.field), inline: true })),
    },
  ],
});

const escapeSlack = (value: string): string =>
  value.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const buildSlackBody = ({ title, text, facts }: Message): object => ({
  text: escapeSlack(text).slice(0, slackTextMax),
  blocks: [
    {
      type: "section",
      text: { type: "mrkdwn", text: `*${escapeSlack(title)}*\n${escapeSlack(text)}`.slice(0, slackTextMax) },
    },
    ...(facts.length === 0
      ? []
      : [
          {
            type: "section",
            fields: facts.map(([name, value]) => ({
              type: "mrkdwn",
              text: `*${name}*\n${escapeSlack(value)}`.slice(0, 2000),
            })),
          },
        ]),
  ],
});

/** The body of an event for a chat channel, as text. */
export function writeChatBody(format: "discord" | "slack", occurrence: OutboxEvent, organization: string): string {
  const message = getMessage(occurrence, organization);
  return JSON.stringify(format === "discord" ? buildDiscordBody(message, occurrence) : buildSlackBody(message));
}

/** Tells a member that an endpoint was given up (WHK-14). Of the address only the host: a chat's path is its password. */
export function writeDisabledMail(
  to: string,
  organization: string,
  endpoint: { id: string; name: string | null; url: string },
): Mail {
  const address = `${endpoint.name ? `${endpoint.name} ` : ""}at ${new URL(endpoint.url).host}`;
  return {
    to,
    subject: `A webhook endpoint of ${organization} was switched off`,
    paragraphs: [
      `The webhook endpoint ${address} did not accept the last ten events, so nothing more is sent to it.`,
      `Once it works again: floe webhooks update ${endpoint.id} --enabled. Events that were held back can then be sent again.`,
    ],
  };
}
