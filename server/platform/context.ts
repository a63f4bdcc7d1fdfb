import type { Member } from "../../shared/api/members.ts";
import type { Permissions } from "../../shared/permissions.ts";
import type { Scope } from "../../shared/scopes.ts";
import type { Clock, SellerTerms } from "./clock.ts";
import type { Config } from "./config.ts";
import type { Database, ExtraWrite, Tx } from "./db/transaction.ts";
import type { ClientProfile } from "./http/profiles.ts";
import type { SentRequest } from "./http/relayed.ts";
import type { Drain } from "./jobs/drain.ts";
import type { Jobs } from "./jobs/jobs.ts";
import type { Processor, Processors } from "./processors/processor.ts";
import type { TaxCalculator } from "./processors/tax-calculator.ts";
import type { Storage } from "./storage/storage.ts";

export type { Database, SellerTerms, Tx };

/** The caller of a request, with the one organization it acts for and that organization's terms. */
export type Actor = SellerTerms & {
  kind: "anonymous" | "key" | "user" | "customer" | "system";
  organization_id: string | null;
  /** All organizations of a list request by a person who reads several at once. */
  organization_ids?: readonly string[];
  scopes: ReadonlySet<Scope>;
  user_id: string | null;
  key_id: string | null;
  /** Whether the user signed in for some scopes alone. */
  limited?: boolean;
  /** The platform admin who acts in the user's name. */
  impersonated_by?: string | null;
  /** When the user last showed who they are. */
  proven_at?: Date;
  /** The customer who calls for themselves, and the session used. */
  customer?: { customer_id: string; session_id: string; member: AskingMember | null; token?: string };
  /** The role that the request is limited to, besides what the caller may do. */
  as_role?: string;
  /** Of a person, and of their key: every organization that they are in, with what they may do in each. */
  memberships?: readonly Membership[];
};
export const anonymous: Actor = {
  kind: "anonymous",
  organization_id: null,
  clock_offset_ms: 0,
  sandbox: false,
  scopes: new Set(),
  user_id: null,
  key_id: null,
};

/** The team member of a session; null if the session belongs to the customer as such, who may do everything. */
export type AskingMember = { id: string; role: Member["role"] };

/** The identity of a request, before its organization is resolved. */
export type Identity = (
  | { kind: "anonymous" }
  | { kind: "invalid" }
  /** A key that has reached its limit; it is valid again after `retry_after` seconds. */
  | { kind: "limited"; retry_after: number }
  /** An organization's key, or what was made by one to read its metrics alone, which has no id. */
  | ({ kind: "key"; key_id: string | null; organization_id: string; scopes: ReadonlySet<Scope> } & SellerTerms)
  /** A customer of an organization, who asks for themselves alone. */
  | ({
      kind: "customer";
      session_id: string;
      customer_id: string;
      organization_id: string;
      member: AskingMember | null;
      /** The token itself, where it is another service that knows whose it is. */
      token?: string;
    } & SellerTerms)
  /** A person's own key: it acts on /v1 as they may, and nowhere else. */
  | { kind: "personal_key"; key_id: string; user_id: string; active_organization_id: null; memberships: Membership[] }
  | {
      kind: "user";
      user_id: string;
      session_id: string;
      impersonated_by: string | null;
      /** The cookie of a session that this use made last longer, to be sent back. */
      set_cookie?: string;
      active_organization_id: string | null;
      /** When they last showed who they are: by signing in, or by their password. */
      proven_at: Date;
      /** Whether a device was signed in for some scopes of the API alone. */
      limited: boolean;
      /** Their organizations, with what their roles (and the limits of the credential) let them do in each. */
      memberships: Membership[];
    }
) & {
  /** The role that the request is limited to. */
  as_role?: string;
};

export type Membership = SellerTerms & {
  organization_id: string;
  /** As stored: several by commas. */
  role: string;
  permissions: Permissions;
  scopes: ReadonlySet<Scope>;
};

export type Log = {
  info(fields: object, text?: string): void;
  warn(fields: object, text?: string): void;
  error(fields: object, text?: string): void;
};

/** An answer to a signal, in the transaction of what happened: where it fails, that has not happened. */
export type Reaction<T> = (tx: Tx, ctx: Deps | Ctx, payload: T) => Promise<void>;
/** Who answers to which signal, by its name. */
export type Reactions = ReadonlyMap<string, readonly Reaction<never>[]>;

/** What the whole server shares: made once in main, handed to everything. */
export type Deps = {
  db: Database;
  /** This process, among those of the database. */
  process_id: string;
  /** The server's; in work for one seller, that seller's. */
  clock: Clock;
  config: Config;
  jobs: Jobs;
  /** Whether the process stops, and what it completes before. */
  drain: Drain;
  /** The server's own; in work for one seller, the one that takes that seller's money. */
  processor: Processor;
  processors: Processors;
  /** Whether work is done for a sandbox. */
  sandbox: boolean;
  /** Computes tax in place of the sellers' registrations; null where they count, as in a sandbox. */
  taxCalculator: TaxCalculator | null;
  storage: Storage;
  /** Who answers to what happens, in the same transaction. */
  reactions: Reactions;
  log: Log;
};

/** What an operation works with: the shared parts, who asks, and what their client understands. */
export type Ctx = Deps & {
  actor: Actor;
  client: ClientProfile;
  ip: string;
  /** The id of the request, as it is answered and logged. */
  request_id?: string;
  /** Whether a proxy says that it passes the request on for somebody else. */
  isForwarded: boolean;
  /** The request as it came, where the operation is to be handed on. */
  sent?: SentRequest;
  /** What is written in the transactions of the operation besides what it writes itself. */
  extraWrites: readonly ExtraWrite[];
};

/** The organization the request speaks for. The mount has made sure that there is one. */
export function requireOrganization(ctx: { actor: Actor }): string {
  if (ctx.actor.organization_id === null) throw new Error("An operation without an organization was reached.");
  return ctx.actor.organization_id;
}

/** Whether the caller holds a scope in an organization, also where a list is of several of them. */
export function hasScope({ actor }: { actor: Actor }, organization_id: string, scope: Scope): boolean {
  if (actor.organization_id === organization_id) return actor.scopes.has(scope);
  const membership = actor.memberships?.find((one) => one.organization_id === organization_id);
  return membership?.scopes.has(scope) ?? false;
}

/** The organizations whose rows a list is of: those that were asked for, as far as the caller may read there. */
export const requireOrganizations = (ctx: { actor: Actor }): readonly string[] =>
  ctx.actor.organization_ids ?? [requireOrganization(ctx)];
