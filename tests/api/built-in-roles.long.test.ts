import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { organizationRoles } from "../../shared/permissions.ts";
import { type Entry, type Operations, operations, startOperations } from "../support/operations.ts";
import { join, type Person, person } from "../support/people.ts";

/** Each operation of a seller under each built-in role (TOK-15). */

type Role = Exclude<keyof typeof organizationRoles, "owner">;
const roles = Object.keys(organizationRoles).filter((role): role is Role => role !== "owner");
const sellers = operations.filter(({ op }) => op.access.by === "seller");

/** What reads although its method writes: previews and comparisons, and links to what may be read anyway. */
const readingPosts = [
  "catalog.plan",
  "catalog.rehearse",
  "subscriptions.preview",
  "invoices.generate",
  "invoices.createExport",
  "invoices.generateCreditNote",
  "metrics.link",
  "subscriptionMigrations.preview",
];
const writes = ({ title, op }: Entry): boolean => op.method !== "GET" && !readingPosts.includes(title);
/** All that support changes. A new operation under one of its scopes belongs here, or under another scope. */
const supportWrites = [
  "cancellations.settle",
  "customerSeats.assign",
  "customerSeats.resend",
  "customerSeats.revoke",
  "licenseKeys.activate",
  "licenseKeys.deactivate",
  "licenseKeys.lease",
  "licenseKeys.rotate",
  "licenseKeys.update",
  "licenseKeys.validate",
  "orders.resendMail",
  "orders.update",
  "refunds.create",
  "subscriptions.create",
  "subscriptions.delete",
  "subscriptions.update",
  "webhooks.redeliver",
  "webhooks.startReplay",
  "webhooks.stopReplay",
];
/** What only a role for API keys, or for all that customers may do, reads. */
const closedReads = ["ciRules.list", "organizationAccessTokens.list", "sandbox.diffSnapshots", "sandbox.listMails"];

let all: Operations;
const people = new Map<Role, Person>();
beforeAll(async () => {
  all = await startOperations();
  const { floe, seller } = all;
  const owner = { email: seller.email, password: seller.password, user_id: seller.user_id, session: seller.session };
  for (const role of roles) {
    const guest = await person(floe, role);
    await join(floe, { owner, organizationId: seller.organization_id, guest, role });
    people.set(role, guest);
  }
});
afterAll(() => all?.floe.close());

const isAllowed = (role: Role, entry: Entry): boolean => {
  if (role === "admin") return true;
  if (writes(entry)) return role === "support" && supportWrites.includes(entry.title);
  return !closedReads.includes(entry.title);
};
const callAs = (token: string, entry: Entry) =>
  all.call(entry, {
    as: token,
    headers: { "polar-organization": all.seller.organization_id },
    ...(entry.op.params && writes(entry) ? { params: all.unknownParams(entry) } : {}),
  });

describe.each(sellers)("$title", (entry) => {
  test.each(roles)("TOK-15: as %s", async (role) => {
    const { status, json } = await callAs(people.get(role)?.session ?? "", entry);
    const isRefused = status === 403 && json?.error === "insufficient_scope";
    expect([entry.title, role, !isRefused, status < 500]).toEqual([entry.title, role, isAllowed(role, entry), true]);
  });
});

/** The fields that open something, in an answer to the owner. A checkout link is made to be given to everybody. */
const opening = /^(secret|client_secret|token|lease|guild_token|user_provided_key|\w+_token|\w+_secret)$/;
function collectSecrets(value: unknown, found: Set<string>): void {
  if (typeof value !== "object" || value === null) return;
  const row = value as Record<string, unknown>;
  for (const [field, one] of Object.entries(row)) {
    const isSecret = opening.test(field) || (field === "key" && "display_key" in row);
    if (isSecret && typeof one === "string" && one.length > 8) found.add(one);
    if (field === "payload" && typeof one === "string") collectSecrets(JSON.parse(one), found);
    collectSecrets(one, found);
  }
}

test("TOK-15: no answer to a reading role has a secret that the owner reads", async () => {
  const reads = sellers.filter((entry) => !writes(entry));
  const [secrets, keys] = [new Set<string>(), new Set<string>()];
  for (const entry of reads) {
    if (entry.title.startsWith("checkoutLinks") || entry.title.startsWith("benefits")) continue;
    const { json } = await callAs(all.seller.session, entry);
    collectSecrets(json, entry.title.startsWith("licenseKeys") ? keys : secrets);
  }
  expect([secrets.size > 2, keys.size > 0]).toEqual([true, true]);
  for (const role of ["viewer", "member", "support"] as const)
    for (const entry of reads) {
      const { text } = await callAs(people.get(role)?.session ?? "", entry);
      const hidden = role === "support" ? secrets : new Set([...secrets, ...keys]);
      const leaked = [...hidden].filter((one) => text.includes(one));
      expect([entry.title, role, leaked]).toEqual([entry.title, role, []]);
    }
});

test("TOK-15: support writes these six resources, and a viewer none", () => {
  const writing = Object.entries(organizationRoles.support).filter(([, actions]) => actions.includes("write"));
  expect(writing.map(([resource]) => resource).sort()).toEqual(
    ["customer_seats", "license_keys", "orders", "refunds", "subscriptions", "webhook_deliveries"].sort(),
  );
  for (const [resource, actions] of Object.entries(organizationRoles.viewer))
    expect([resource, actions.filter((action) => action !== "read")]).toEqual([resource, []]);
});
