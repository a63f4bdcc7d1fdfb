/** One thing as people read it on a terminal: prices, trials and benefits in sentences. */
import { describe, expect, test } from "vitest";
import { renderDetail } from "../../cli/ui/detail.ts";
import { createPaint } from "../../cli/ui/theme.ts";
import { describeBenefit, readTerms } from "../../shared/benefit-text.ts";
import { messages as german } from "../../shared/messages/de/checkout.ts";
import { messages as french } from "../../shared/messages/fr/checkout.ts";

const paint = createPaint({ NO_COLOR: "1" }, undefined, {});
const id = "0193a000-0000-7000-8000-000000000001";
const show = (row: unknown, width = 80) => renderDetail(row, paint, width).trimEnd().split("\n");
const usd = { price_currency: "usd" };
const tiers = [
  { min_seats: 1, max_seats: 9, price_per_seat: 900 },
  { min_seats: 10, max_seats: null, price_per_seat: 800 },
];
const seats = (seat_tiers: object, recurring_interval: string | null = "month") => ({
  ...{ amount_type: "seat_based", ...usd, recurring_interval, seat_tiers },
});

describe("prices of one product", () => {
  test.each([
    [{ amount_type: "fixed", price_amount: 1900, ...usd }, ["$19.00"]],
    [{ amount_type: "fixed", price_amount: 1900, ...usd, recurring_interval: "year" }, ["$19.00 a year"]],
    [{ amount_type: "free", ...usd, recurring_interval: "month" }, ["free"]],
    [{ amount_type: "custom", minimum_amount: 500, ...usd }, ["what the buyer chooses, from $5.00 on"]],
    [seats({ tiers: [{ ...tiers[1], min_seats: 1 }] }, null), ["$8.00 per seat"]],
    [
      seats({ seat_tier_type: "volume", tiers }),
      ["$9.00 per seat a month for 1 to 9 seats", "$8.00 per seat a month for 10 seats or more"],
    ],
    [
      seats({ seat_tier_type: "graduated", tiers }),
      ["$9.00 per seat a month for seats 1 to 9", "$8.00 per seat a month from seat 10 on"],
    ],
    [
      {
        ...{ amount_type: "metered_unit", unit_amount: "0.2", cap_amount: 5000, ...usd },
        ...{ recurring_interval: "month", meter: { name: "API calls" } },
      },
      ["$0.002 per unit of API calls, at most $50.00 a month"],
    ],
  ])("%j", (price, lines) => {
    const shown = show({ name: "Pro", recurring_interval: "month", recurring_interval_count: 1, prices: [price] });
    expect(shown).toEqual(["name    Pro", ...lines.map((line, at) => `${at === 0 ? "prices" : "      "}  ${line}`)]);
  });

  test("of several months they say how many, and one that is archived is not told", () => {
    const price = { amount_type: "fixed", price_amount: 1900, ...usd, recurring_interval: "month" };
    const prices = [price, { ...price, price_amount: 9900, is_archived: true }];
    expect(show({ recurring_interval: "month", recurring_interval_count: 3, prices })).toEqual([
      "prices  $19.00 every 3 months",
    ]);
  });

  test("a trial is a sentence", () => {
    const team = { name: "Team", trial_interval: "day", trial_interval_count: 14 };
    expect(show(team)).toEqual(["name   Team", "trial  14 days free"]);
    expect(show({ ...team, trial_interval_count: 1 })).toContain("trial  1 day free");
    expect(show({ ...team, trial_interval: null, trial_interval_count: null })).toEqual(["name  Team"]);
  });
});

const key = {
  ...{ prefix: "ACME", expires: { ttl: 1, timeframe: "year" }, limit_usage: null },
  activations: { limit: 3, enable_customer_admin: true },
};
describe("benefits", () => {
  test.each([
    ["license_keys", key, "License key for 3 devices, valid for one year, beginning with ACME"],
    [
      "license_keys",
      { prefix: null, expires: null, activations: null, limit_usage: 100 },
      "License key, usable 100 times",
    ],
    ["downloadables", { files: [id, "b"], archived: { b: true } }, "One file to download"],
    ["downloadables", { files: [id, "b"], archived: {} }, "2 files to download"],
    ["meter_credit", { units: 1000, rollover: true, meter_id: id }, "1,000 units, unused ones carry over"],
    [
      "github_repository",
      { repository_owner: "acme", repository_name: "book", permission: "pull" },
      "pull access to acme/book on GitHub",
    ],
    ["discord", { guild_id: "1", role_id: "42", kick_member: false, guild_token: "" }, "role 42 on Discord"],
    ["custom", { note: "Come to the forum" }, "Come to the forum"],
    ["custom", { note: null }, undefined],
    ["feature_flag", {}, undefined],
  ])("%s %j gives: %s", (type, properties, gives) => {
    const shown = show({ description: "Perk", type, properties });
    expect(shown.find((line) => line.startsWith("gives"))).toBe(gives && `gives        ${gives}`);
    expect(shown.join("\n")).not.toMatch(/[{}=]|0193a000/);
    expect(show({ benefits: [{ id, description: "Perk", type, properties }] }, 120)).toEqual([
      `benefits  Perk${gives ? `: ${gives}` : ""}`,
    ]);
  });

  test("what buyers read of them is said in their language", () => {
    const say = (messages: typeof german.benefit, type: string, properties: object) =>
      describeBenefit({ type, terms: readTerms(type, properties) }, messages);
    expect(say(german.benefit, "license_keys", key)).toBe("Lizenzschlüssel für 3 Geräte, ein Jahr gültig");
    expect(say(french.benefit, "license_keys", key)).toBe("Clé d’activation pour 3 appareils, valable un an");
    expect(say(german.benefit, "downloadables", { files: ["a"] })).toBe("Eine Datei zum Herunterladen");
    expect(say(french.benefit, "github_repository", {})).toBe("Accès à un dépôt sur GitHub");
    expect(say(german.benefit, "custom", { note: "x" })).toBeUndefined();
    expect(say(german.benefit, "downloadables", { files: [] })).toBeUndefined();
  });
});

test("of an order that is paid, nothing is said to be due; of one that is not, what is", () => {
  const order = { total_amount: 720, due_amount: 720, currency: "usd" };
  expect(show({ ...order, paid: true }).filter((line) => line.startsWith("due"))).toEqual([]);
  for (const other of [{ paid: false }, { paid: true, due_amount: 500 }])
    expect(show({ ...order, ...other }).filter((line) => line.startsWith("due"))).toHaveLength(1);
});

test("an id is not told beside what it is the id of, and an address is one line as on a letter", () => {
  const order = {
    ...{ customer_id: id, customer: { id, name: "Ada", email: "ada@example.com" }, subscription_id: id },
    billing_address: {
      line1: "1 Main St",
      line2: null,
      postal_code: "94105",
      city: "SF",
      state: "US-CA",
      country: "US",
    },
  };
  expect(show(order)).toEqual([
    "customer         Ada, ada@example.com",
    "billing address  1 Main St, 94105 SF, CA, US",
    `subscription id  ${id}`,
  ]);
  // What a seller or a buyer has typed stays one field, however it is written.
  expect(show({ benefits: [{ description: "a\u001b[31m\nb", type: "custom", properties: { note: "c\nd" } }] })).toEqual(
    ["benefits  a�[31m b: c d"],
  );
});
