import { describe, expect, test } from "vitest";
import {
  checkProducts,
  findEmbedOrigin,
  getLinkUrl,
  isCovered,
  isRead,
  type LinkRow,
  mergeMetadata,
  readPrefill,
} from "../../server/checkout/links/rules.ts";
import { linkParameters } from "../../shared/api/buyer-requests.ts";
import { custom, discount, price, product } from "../support/checkout-rows.ts";

test("a link leads to the page where its products are bought", () => {
  expect(getLinkUrl("secret", { url: "https://floe.example" })).toBe("https://floe.example/buy/secret");
});

test("a link offers no product that is unknown or off sale", () => {
  const found = new Map([
    ["a", product()],
    ["b", product({ is_archived: true })],
  ]);
  const faults = checkProducts(["a", "b", "c"], found, (index) => ["products", index]);
  expect(faults.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`)).toEqual([
    "body.products.1: Product is archived.",
    "body.products.2: Product does not exist.",
  ]);
});

test.each([
  ["for all products", [], ["a"], true],
  ["for one of those offered", ["b"], ["a", "B"], true],
  ["for others", ["c"], ["a", "b"], false],
  ["for one where none is offered", ["c"], [], false],
])("a discount %s stands on a link: %j %j %j", (_, limited, offered, covered) => {
  const products = limited.map((id) => ({ id })) as never;
  expect(isCovered(discount({ products }), offered)).toBe(covered);
});

describe("what an address carries into a checkout (CHK-20, CHK-62, CHK-63)", () => {
  const [tracked = "", second = ""] = linkParameters.metadata;
  const link = (metadata: LinkRow["metadata"]) => ({ metadata }) as LinkRow;
  test.each([
    ["what is tracked", {}, { [tracked]: "x" }, { [tracked]: "x" }],
    ["nothing else", {}, { other: "x" }, {}],
    ["nothing empty", {}, { [tracked]: "" }, {}],
    ["nothing over what the link says itself", { [tracked]: "own" }, { [tracked]: "x" }, { [tracked]: "own" }],
    ["no more of a value than is kept", {}, { [tracked]: "x".repeat(501) }, { [tracked]: "x".repeat(500) }],
  ])("%s", (_, own, query, metadata) => {
    expect(mergeMetadata(link(own), query)).toEqual(metadata);
  });
  test.each([
    [48, 2],
    [49, 1],
    [50, 0],
  ])("beside %i keys of the link, %i more at most", (count, more) => {
    const own = Object.fromEntries(Array.from({ length: count }, (_, index) => [`key${index}`, "x"]));
    const merged = mergeMetadata(link(own), { [tracked]: "a", [second]: "b" });
    expect(Object.keys(merged)).toHaveLength(count + more);
    expect(merged).toMatchObject(own);
  });

  const chosen = [custom({ minimum_amount: 500, maximum_amount: 5000 })];
  test.each([
    [
      "a name and an address",
      { customer_email: "a@b.c", customer_name: "Ada" },
      { customer_email: "a@b.c", customer_name: "Ada" },
    ],
    ["an amount that the price takes", { amount: "500" }, { amount: 500 }],
    ["no amount below its least", { amount: "499" }, {}],
    ["no amount above its most", { amount: "5001" }, {}],
    ["no fraction", { amount: "600.5" }, {}],
    ["nothing that is no number", { amount: "NaN" }, {}],
    ["nothing empty", { amount: "" }, {}],
  ])("the form is filled with %s", (_, query, filled) => {
    expect(readPrefill(query as Record<string, string>, chosen)).toEqual(filled);
  });
  test("where no amount is chosen none is checked, and none is bought for it", () => {
    expect(readPrefill({}, [price()])).toEqual({});
  });
  test("the link reads what is tracked, what fills the form and answers to fields", () => {
    const names = [...linkParameters.metadata, ...linkParameters.form, `${linkParameters.answer_prefix}x`];
    expect(names.filter((name) => !isRead(name))).toEqual([]);
    expect(["theme", "locale", "", "x"].filter(isRead)).toEqual([]);
  });
});

test.each([
  ["https://shop.example:8443/page?x#y", "https://shop.example:8443"],
  ["http://localhost:3000", "http://localhost:3000"],
  ["https://shop.example:443", "https://shop.example"],
  ["https://*.example", null],
  ["javascript:alert(1)", null],
  ["shop.example", null],
  ["", null],
  [undefined, null],
])("the address %j names the origin %s (CHK-25)", (text, origin) => {
  expect(findEmbedOrigin(text)).toBe(origin);
});
