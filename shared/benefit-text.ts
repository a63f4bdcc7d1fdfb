/** What a benefit is, in a sentence for buyers and sellers. */
import { type BenefitMessages, messages as english } from "./messages/en/benefit.ts";

/** What buyers are told of a benefit besides its description: how far a license key reaches, how many files there are. */
export type BenefitTerms = {
  activations: number | null;
  expires: { ttl: number; timeframe: "day" | "month" | "year" } | null;
  limit_usage: number | null;
  files: number | null;
};
type Limits = {
  activations?: { limit: number } | null;
  expires?: BenefitTerms["expires"];
  limit_usage?: number | null;
  files?: string[];
  archived?: Record<string, boolean>;
};

/** The terms that the properties of a benefit say; null for other kinds than license keys and files. */
export function readTerms(type: string, properties: object): BenefitTerms | null {
  const { activations, expires, limit_usage, files, archived } = properties as Limits;
  if (type === "license_keys")
    return {
      activations: activations?.limit ?? null,
      expires: expires ?? null,
      limit_usage: limit_usage ?? null,
      files: null,
    };
  if (type !== "downloadables") return null;
  const shown = (files ?? []).filter((id) => archived?.[id] !== true);
  return { activations: null, expires: null, limit_usage: null, files: shown.length };
}

/** A benefit in a sentence; undefined where its kind says no more than the seller's description. */
export function describeBenefit(
  { type, terms }: { type: string; terms: BenefitTerms | null },
  messages: BenefitMessages = english,
): string | undefined {
  if (type === "discord") return messages.discord;
  if (type === "github_repository") return messages.github;
  if (!terms) return undefined;
  if (type === "downloadables") return terms.files ? messages.files(terms.files) : undefined;
  const { activations, expires, limit_usage } = terms;
  return [
    activations === null ? messages.key : messages.devices(activations),
    ...(expires === null ? [] : [messages.lasts[expires.timeframe](expires.ttl)]),
    ...(limit_usage === null ? [] : [messages.uses(limit_usage)]),
  ].join(", ");
}
