import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { findShapeFault } from "../../server/hosted/relay/check.ts";
import { completeAnswer } from "../../server/hosted/relay/complete.ts";
import { defaults, findDefault } from "../../server/hosted/relay/defaults.ts";
import { findPublishedQuery } from "../../server/hosted/relay/request.ts";
import { operations } from "../support/operations.ts";
import { buildAnswer, readPublishedAnswers, type Variant } from "../support/published-answers.ts";

/** What Polar may answer by the types of its own SDK is never a 502 for the client. */

const answers = readPublishedAnswers();
const relayed = operations.flatMap(({ title, op }) => {
  const shape = answers.get(`${op.method} ${op.path.replaceAll(/:(\w+)/g, "{$1}")}`);
  return shape && op.response && findPublishedQuery(op) !== undefined ? [{ title, op, shape }] : [];
});
const now = new Date("2026-11-01T10:00:00Z");
const polar_id = "00000000-0000-4000-8000-00000000000a";
const known = { now, polar_id, isSandbox: false };

/** The operations that refuse such an answer, with the first place of each. */
function findRefused(variant: Variant): Record<string, string> {
  const found = relayed.flatMap(({ title, op, shape }) => {
    const fault = findShapeFault(op, completeAnswer(title, op, buildAnswer(shape, variant), known));
    return fault === undefined ? [] : [[title, /\[<root>\.?([^\]]*)\]/.exec(fault)?.[1] ?? fault]];
  });
  return Object.fromEntries(found) as Record<string, string>;
}
const complete = (title: string, variant: Variant = {}): Record<string, unknown> => {
  const found = relayed.find((one) => one.title === title);
  if (!found) throw new Error(`${title} is not relayed.`);
  const completed = completeAnswer(title, found.op, buildAnswer(found.shape, variant), known);
  return completed as Record<string, unknown>;
};

test("an answer with only what Polar's description requires passes, and one with all of it", () => {
  expect(relayed.length).toBeGreaterThan(110);
  expect(findRefused({})).toEqual({});
  expect(findRefused({ isWhole: true })).toEqual({});
});

test("a default that follows from the answer or the server is that of this answer", () => {
  const order = complete("orders.get");
  expect(order).toMatchObject({ reduced_amount: 0, custom_field_data: {}, user_id: order.customer_id });
  expect(complete("customerSeats.list")).toMatchObject({ seats: [{ organization_id: polar_id }] });
  const key = complete("licenseKeys.update", { isWhole: true });
  expect(key.member).toMatchObject({ customer_id: key.customer_id, created_at: key.created_at, role: "member" });
  expect(complete("checkoutClient.get")).toMatchObject({ as_of: now.toISOString(), quote: "" });
  expect(complete("meters.get")).toMatchObject({ aggregation: { func: "count" } });
  expect(complete("organizations.get")).toMatchObject({ sandbox: false, branding: { logo_url: null } });
  const { organization } = complete("checkoutClient.get") as { organization: Record<string, unknown> };
  expect(organization.subscription_settings).toMatchObject({
    allow_customer_updates: organization.allow_customer_updates,
    proration_behavior: organization.proration_behavior,
  });
});

test("what Polar says stays, and a field without a default stays missing", () => {
  const { op } = relayed.find(({ title }) => title === "orders.get") ?? {};
  if (!op) throw new Error("orders.get is not relayed.");
  const said = { reduced_amount: 7, custom_field_data: { size: "L" }, access: "withheld", sandbox: 1 };
  expect(completeAnswer("orders.get", op, said, known)).toMatchObject(said);
  const { total_amount: _, ...partly } = complete("orders.get");
  const fault = findShapeFault(op, completeAnswer("orders.get", op, partly, known));
  expect(fault).toContain("[<root>.total_amount]: Required");
  // A default of one resource is none of another: a customer says what they are, and an endpoint has an id.
  for (const [title, field] of [
    ["customers.get", "type"],
    ["webhooks.getEndpoint", "id"],
    ["webhooks.getEndpoint", "url"],
  ] as const) {
    const { op: other } = relayed.find((one) => one.title === title) ?? {};
    if (!other) throw new Error(`${title} is not relayed.`);
    const rest = Object.fromEntries(Object.entries(complete(title)).filter(([name]) => name !== field));
    expect(findShapeFault(other, completeAnswer(title, other, rest, known)), title).toContain(field);
  }
  // A seat says whose it is only where the server knows.
  const seats = relayed.find(({ title }) => title === "customerSeats.list");
  const unlinked = { ...known, polar_id: undefined };
  if (!seats) throw new Error("Seats are not relayed.");
  expect(findShapeFault(seats.op, completeAnswer(seats.title, seats.op, buildAnswer(seats.shape), unlinked))).toContain(
    "organization_id",
  );
});

test("each default is needed by an answer, and the document lists it", () => {
  const used = new Set<unknown>();
  const note = (title: string, path: string[], sent: unknown, shown: unknown): void => {
    if (Array.isArray(shown))
      for (const [index, item] of shown.entries()) note(title, path, (sent as unknown[])?.[index], item);
    else if (typeof shown === "object" && shown !== null)
      for (const [key, inner] of Object.entries(shown)) {
        const before = (sent as Record<string, unknown> | undefined)?.[key];
        if (before === undefined) used.add(findDefault(title, [...path, key]));
        note(title, [...path, key], before, inner);
      }
  };
  for (const { title, op, shape } of relayed) {
    const least = buildAnswer(shape);
    note(title, [], least, completeAnswer(title, op, least, known));
  }
  expect(defaults.filter((one) => !used.has(one)).map(({ place }) => place)).toEqual([]);
  const text = readFileSync("docs/hosted-polar.md", "utf8");
  const undocumented = defaults.filter(({ place }) => !text.includes(`\`${place}\``));
  expect(undocumented.map(({ place }) => place)).toEqual([]);
});

test("webhook endpoints of Polar have no name and no earlier secret: both are null for the client", () => {
  expect(complete("webhooks.listEndpoints")).toMatchObject({
    items: [{ name: null, previous_secret_expires_at: null }],
  });
});
