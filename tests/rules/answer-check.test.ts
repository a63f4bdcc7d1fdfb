/** Answers of the wrong shape are told as the official SDK of the first generation tells them. */
import { formatZodError } from "polar-sdk-0.38/models/errors/sdkvalidationerror.js";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { findIssues, SDKValidationError } from "../../shared/answer-check.ts";
import { checkAnswer, getShape } from "../../shared/answer-shapes.ts";
import { Order } from "../../shared/api/orders.ts";
import { createClient } from "../../shared/client.ts";
import { anyone, instant, page } from "../../shared/contract.ts";

const shape = z.object({
  name: z.string(),
  amount: z.int(),
  rate: z.number().nullable(),
  status: z.enum(["open", "closed"]),
  kind: z.literal("order"),
  at: instant,
  seats: z.int().optional(),
  items: z.array(z.object({ amount: z.int() })),
  price: z.discriminatedUnion("type", [
    z.object({ type: z.literal("fixed"), amount: z.int() }),
    z.object({ type: z.literal("free") }),
  ]),
  value: z.union([z.string(), z.boolean()]),
  closed: z.strictObject({ on: z.boolean() }),
});
const old = z3.object({
  name: z3.string(),
  amount: z3.number().int(),
  rate: z3.number().nullable(),
  status: z3.enum(["open", "closed"]),
  kind: z3.literal("order"),
  at: z3.string().datetime({ offset: true }),
  seats: z3.number().int().optional(),
  items: z3.array(z3.object({ amount: z3.number().int() })),
  price: z3.discriminatedUnion("type", [
    z3.object({ type: z3.literal("fixed"), amount: z3.number().int() }),
    z3.object({ type: z3.literal("free") }),
  ]),
  value: z3.union([z3.string(), z3.boolean()]),
  closed: z3.strictObject({ on: z3.boolean() }),
});
const well = {
  name: "A",
  amount: 1,
  rate: null,
  status: "open",
  kind: "order",
  at: "2026-01-01T00:00:00Z",
  items: [{ amount: 1 }],
  price: { type: "fixed", amount: 1 },
  value: true,
  closed: { on: true },
};

/** The text, without the first line. The official text writes "Attemped". */
const tell = (value: unknown): string =>
  new SDKValidationError(findIssues(getShape(shape), value), value).pretty().replace("Attempted", "Attemped");
const tellOfficially = (value: unknown): string => {
  const { error } = old.safeParse(value);
  if (!error) throw new Error("The official validator accepts it.");
  return `Response validation failed\n${formatZodError(error as never)}`;
};

describe("the text is the official one", () => {
  test.each<[string, object]>([
    ["a text for a number", { amount: "12" }],
    ["a missing field", { name: undefined }],
    ["null for a text", { name: null }],
    ["a number that is not whole", { amount: 1.5 }],
    ["a number with a fraction in an optional field", { seats: 0.5 }],
    ["an unknown word", { status: "paused" }],
    ["a number for a word", { status: 3 }],
    ["another tag", { kind: "refund" }],
    ["a time without offset", { at: "2026-01-01T00:00:00" }],
    ["a list for an object", { price: [] }],
    ["an object for a list", { items: {} }],
    ["an item of a list", { items: [{ amount: 1 }, { amount: null }] }],
    ["an unknown kind of a union", { price: { type: "tiered" } }],
    ["a field of a known kind", { price: { type: "fixed", amount: "1" } }],
    ["no member of a union", { value: 5 }],
    ["a further field in a closed shape", { closed: { on: true, off: false } }],
    ["several faults", { name: 5, rate: "x", items: [{}] }],
  ])("%s", (_, fault) => {
    const value = { ...well, ...fault };
    expect(tell(value)).toBe(tellOfficially(value));
  });
});

test("an answer of the right shape passes, with fields that the shape does not name", () => {
  expect(findIssues(getShape(shape), { ...well, further: 1, seats: 3, rate: 0.5 })).toEqual([]);
  expect(() => checkAnswer(page(shape), { items: [], pagination: { total_count: 0, max_page: 0 } })).not.toThrow();
});

test("the raw value is kept and not listed, the message tells raw message and cause", () => {
  const value = { ...well, amount: "12" };
  const error = new SDKValidationError(findIssues(getShape(shape), value), value, "Failed to parse event");
  expect(error.name).toBe("SDKValidationError");
  expect(error.rawMessage).toBe("Failed to parse event");
  expect(error.rawValue).toBe(value);
  expect(JSON.stringify(error)).not.toContain("rawValue");
  expect(error.message).toBe("Failed to parse event: [<root>.amount]: Expected number, received string (invalid_type)");
});

test("values of persons and of doors are shown as their type, and long reports end", () => {
  const secrets = z.object({ email: z.literal("a"), tokens: z.array(z.enum(["x"])) });
  const value = { email: "ada@example.com", tokens: Array.from({ length: 500 }, (_, n) => `polar_cst_${n}`) };
  const text = new SDKValidationError(findIssues(getShape(secrets), value), value).pretty();
  expect(text).not.toContain("ada@example.com");
  expect(text).not.toContain("polar_cst_");
  expect(text).toContain("and 481 more");
  expect(text.length).toBeLessThan(16_001);
});

test("floe's own client refuses an answer of the wrong shape", async () => {
  const get = { method: "GET", path: "/v1/orders/:id", summary: "Get", access: anyone, response: Order } as const;
  const client = createClient({ orders: { get } }, async () => ({ status: 200, json: { items: [] } }));
  await expect(client.orders.get({} as never)).rejects.toMatchObject({
    name: "SDKValidationError",
    rawMessage: "Response validation failed",
    message: expect.stringContaining("[<root>.id]: Required (invalid_type)"),
  });
});
