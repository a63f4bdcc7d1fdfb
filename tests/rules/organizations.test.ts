import { describe, expect, test } from "vitest";
import type { OrderRow } from "../../server/billing/orders/rules.ts";
import {
  checkEmbed,
  checkUpdate,
  getDisputePolicy,
  isEmbedAllowed,
  isInGoodStanding,
  isOwnPage,
  type OrganizationRow,
  planUpdate,
  serializeOrganization,
} from "../../server/identity/organizations/rules.ts";
import { findZone, getAddressee, getOccasion, getSpeech, settingOf } from "../../server/messaging/email/rules.ts";

const now = new Date("2026-11-01T12:00:00Z");
const organization = (fields: Partial<OrganizationRow> = {}) =>
  ({
    blocked_at: null,
    held_at: null,
    sandbox: false,
    customer_portal_settings: {},
    dispute_settings: {},
    embed_hosts: [],
    website: null,
    ...fields,
  }) as OrganizationRow;

describe("what an organization may do (ORG-06)", () => {
  test.each([
    ["in good standing", {}, true, [true, true]],
    ["without a way to take payments", {}, false, [false, true]],
    ["in a sandbox", { sandbox: true }, false, [true, true]],
    ["blocked", { blocked_at: now }, true, [false, false]],
    ["held", { held_at: now }, true, [false, false]],
    ["blocked in a sandbox", { blocked_at: now, sandbox: true }, true, [false, false]],
  ])("%s", (_, fields, takesPayments, may) => {
    const { capabilities } = serializeOrganization(organization(fields), takesPayments);
    expect([capabilities.checkout_payments, capabilities.subscription_renewals]).toEqual(may);
    expect(isInGoodStanding(organization(fields))).toBe(!("held_at" in fields) && !("blocked_at" in fields));
  });
  test("buyers keep what they bought until a dispute is lost, unless the seller says otherwise", () => {
    expect(getDisputePolicy({ dispute_settings: {} } as never)).toBe("until_lost");
    expect(getDisputePolicy({ dispute_settings: { access: "revoke" } } as never)).toBe("revoke");
  });
});

describe("an update of an organization", () => {
  const places = (row: Partial<OrganizationRow>, body: object) =>
    checkUpdate(organization(row), body as never, "https://files.example").map(({ loc }) => loc.slice(1).join("."));
  const seats = (enabled: boolean) => ({ feature_settings: { seat_based_pricing_enabled: enabled } as never });
  test.each([
    ["seats on", {}, seats(true), []],
    ["seats off again", seats(true), seats(false), ["feature_settings.seat_based_pricing_enabled"]],
    ["seats off that never were on", {}, seats(false), []],
    ["an uploaded picture", {}, { branding: { logo_url: "https://files.example/a.png" } }, []],
    [
      "a picture from elsewhere",
      {},
      { branding: { logo_url: "https://files.example.evil/a.png" } },
      ["branding.logo_url"],
    ],
    ["no picture", {}, { branding: { logo_url: null } }, []],
    ["single sign-on that is not set up", {}, { sso_enforced: true }, ["sso_enforced"]],
    ["single sign-on that is", { feature_settings: { sso_enabled: true } as never }, { sso_enforced: true }, []],
  ])("sets %s", (_, row, body, faults) => {
    expect(places(row, body)).toEqual(faults);
  });
  test("keeps what it does not name of a group, and dates the details once (ORG-01)", () => {
    const row = organization({
      subscription_settings: { allow_customer_updates: false } as never,
      details: { about: "x" } as never,
      customer_portal_settings: { subscription: { pause: true } } as never,
    });
    const patch = planUpdate(
      row,
      {
        subscription_settings: { proration_behavior: "prorate" },
        details: { product_description: "y" },
        customer_portal_settings: { usage: { show: false }, subscription: { update_seats: false } },
      } as never,
      now,
    );
    expect(patch).toMatchObject({
      subscription_settings: { allow_customer_updates: false, proration_behavior: "prorate" },
      details: { about: "x", product_description: "y" },
      details_submitted_at: now,
      customer_portal_settings: { usage: { show: false }, subscription: { pause: true, update_seats: false } },
    });
    const later = planUpdate({ ...row, details_submitted_at: new Date(0) }, { details: {} } as never, now);
    expect(later.details_submitted_at).toEqual(new Date(0));
  });
});

describe("pages that may show a checkout (CHK-25)", () => {
  test.each([
    ["https://shop.example", ["shop.example"], true],
    ["https://shop.example:443", ["shop.example:443"], true],
    ["https://shop.example:8443", ["shop.example"], true],
    ["https://shop.example:8443", ["shop.example:443"], false],
    ["https://a.shop.example", ["shop.example"], false],
    ["https://a.shop.example", ["*.shop.example"], true],
    ["https://shop.example", ["*.shop.example"], false],
    ["https://evilshop.example", ["*.shop.example"], false],
    ["http://shop.example", ["shop.example"], false],
    ["http://localhost:3000", ["localhost"], true],
    ["https://shop.example", ["SHOP.example"], true],
    ["https://shop.example", [], false],
  ])("%s for %j: %s", (origin, hosts, isAllowed) => {
    expect(isEmbedAllowed(origin, hosts)).toBe(isAllowed);
  });
  test("are checked where the seller says so, and nowhere else", () => {
    const enforced = organization({
      feature_settings: { frame_ancestors_enforced: true } as never,
      embed_hosts: ["a.example"],
    });
    expect(() => checkEmbed(enforced, "https://b.example")).toThrow("may not embed");
    expect(() => checkEmbed(enforced, "https://a.example")).not.toThrow();
    expect(() => checkEmbed(organization(), "https://b.example")).not.toThrow();
  });
  test.each([
    ["https://shop.example/thanks", true],
    ["https://shop.example.evil/thanks", false],
    ["http://shop.example/thanks", false],
    ["https://embedded.example/x", true],
  ])("%s is a page of the seller's: %s", (url, own) => {
    const seller = { website: "https://shop.example/about", embed_hosts: ["embedded.example"] };
    expect(isOwnPage(seller, new URL(url))).toBe(own);
    expect(isOwnPage({ website: "not an address", embed_hosts: [] }, new URL(url))).toBe(false);
  });
});

describe("mails to customers", () => {
  const order = (fields: object) =>
    ({ billing_reason: "subscription_cycle", begins: null, occasion: null, ...fields }) as OrderRow;
  test.each([
    [{ billing_reason: "purchase" }, null],
    [{ billing_reason: "subscription_create" }, "started"],
    [{ billing_reason: "subscription_create", begins: { trial_end: "2026-12-01" } }, "trial_started"],
    [{ billing_reason: "subscription_create", begins: { trial_end: null } }, "started"],
    [{ billing_reason: "subscription_update" }, "changed"],
    [{}, "renewed"],
    [{ occasion: "trial_over" }, "trial_over"],
    [{ occasion: "ended" }, null],
    [{ occasion: "paused" }, null],
  ])("the order %j is told as %s", (fields, occasion) => {
    expect(getOccasion(order(fields))).toBe(occasion);
  });
  const customer = (fields: object = {}) =>
    ({ email: "a@b.c", anonymized_at: null, deleted_at: null, ...fields }) as never;
  test.each([
    ["who has an address", customer(), "a@b.c"],
    ["without one", customer({ email: null }), null],
    ["who was erased", customer({ anonymized_at: now }), null],
    ["who was deleted", customer({ deleted_at: now }), null],
  ])("go to a customer %s: %s", (_, to, address) => {
    expect(getAddressee(to, organization(), "subscription_cycled")).toBe(address);
  });
  test("are not sent where the seller has switched them off, each by itself", () => {
    const settings = Object.values(settingOf).filter((setting) => setting !== null);
    for (const setting of settings) {
      const seller = organization({ customer_email_settings: { [setting]: false } as never });
      expect(new Set(settings.filter((one) => getAddressee(customer(), seller, one) === null))).toEqual(
        new Set([setting]),
      );
    }
  });
  test.each([
    ["DE", "Europe/Berlin"],
    ["US", "UTC"],
    [null, "UTC"],
    ["../..", "UTC"],
    ["XX", "UTC"],
  ])("the clocks of %s are those of %s", (country, zone) => {
    expect(findZone(country, now)).toBe(zone);
  });
  test("are written in the words and numbers of who reads them", () => {
    const speech = getSpeech({ locale: "de", billing_address: { country: "DE" } } as never, organization({}));
    expect([speech.language, speech.money(123456, "eur"), speech.day(now)]).toEqual([
      "de",
      "1.234,56\u00a0€",
      "1. November 2026",
    ]);
    const midnight = new Date("2026-11-01T23:30:00Z");
    expect([speech.day(midnight), speech.date(midnight)]).toEqual(["2. November 2026", "1. November 2026"]);
  });
});
