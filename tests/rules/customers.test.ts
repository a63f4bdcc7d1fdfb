import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type CustomerRow,
  checkTaxId,
  checkUnique,
  exportCells,
  exportHeader,
  getRegion,
  isSameEmail,
  listSpellings,
  normalizeEmail,
  planAnonymization,
  planUpdate,
  serializeCustomer,
} from "../../server/customers/customers/rules.ts";
import { readTaxId } from "../../server/customers/customers/tax-ids.ts";
import { createTextScrubber, describeErased, getWords, redactWords } from "../../server/operations/privacy/rules.ts";
import { CheckoutConfirm } from "../../shared/api/checkout-client.ts";
import { CheckoutCreate } from "../../shared/api/checkouts.ts";
import { CustomerCreate, CustomerUpdate } from "../../shared/api/customers.ts";
import { encodeEmail } from "../../shared/emails.ts";
import { newId } from "../support/ids.ts";

const address = (country: string) =>
  ({ line1: "1 Way", line2: null, postal_code: "1", city: "Town", state: null, country }) as never;
const row = (values: Partial<CustomerRow> = {}): CustomerRow => ({
  id: "00000000-0000-7000-8000-000000000001",
  organization_id: "o",
  created_at: new Date(0),
  modified_at: null,
  deleted_at: null,
  type: "individual",
  external_id: null,
  email: "Ada@Example.com",
  email_verified: true,
  email_version: 0,
  name: "Ada",
  billing_name: null,
  billing_address: null,
  tax_id: null,
  locale: null,
  default_payment_method_id: null,
  first_user_event_at: null,
  metadata: {},
  deleted_external_id: null,
  anonymized_at: null,
  ...values,
});
const plan = (of: CustomerRow, body: object) => {
  const { patch, faults } = planUpdate(of, CustomerUpdate.parse(body));
  return { patch, faults: faults.map(({ loc, type }) => `${loc.slice(1).join(".")} ${type}`) };
};

describe("what is unique", () => {
  const other = row({ external_id: "x" });
  test("CUS-01, CUS-03: e-mail in any case and external id exactly, both reported together", () => {
    expect(
      checkUnique({ email: "ADA@example.COM", external_id: "x" }, [other]).map(({ loc, msg }) => [loc.join("."), msg]),
    ).toEqual([
      ["body.email", "A customer with this email address already exists."],
      ["body.external_id", "A customer with this external ID already exists."],
    ]);
    expect(checkUnique({ email: "b@example.com", external_id: "X" }, [other])).toEqual([]);
  });
  test("CUS-02: no external id clashes with no other", () => {
    expect(checkUnique({ external_id: null }, [row()])).toEqual([]);
  });
});

test.each([
  "nobody",
  "a@b",
  "a b@example.com",
  "ada@",
  "@example.com",
  ".ada@example.com",
  "a..b@example.com",
  "ada@-x.example",
  "ada@x-.example",
  "ada@example.c",
  "ada@example.123",
  "ada@[127.0.0.1]",
  "<ada@example.com>",
  "a,b@example.com",
  "ada@example.com\r\nBcc: x@example.com",
  "ada@exa\u202emple.com",
  `${"x".repeat(65)}@example.com`,
  `${"x".repeat(60)}@${"y".repeat(63)}.${"y".repeat(63)}.${"y".repeat(63)}.example`,
])("CUS-04: %j is no address", (email) => {
  expect(CustomerCreate.safeParse({ email }).error?.issues[0]?.path).toEqual(["email"]);
  expect(CustomerUpdate.safeParse({ email }).success).toBe(false);
});

test.each([
  "josé@example.com",
  "user@bücher.example",
  "a&b@example.com",
  "perc%ent@example.com",
  "#x@example.com",
  "a/b=c@example.com",
  "o'hara+tag@sub.example.co.uk",
  "x@example.xn--p1ai",
  "почта@пример.рф",
  "用户@例子.广告",
  "a@b.co",
  `${"x".repeat(64)}@example.com`,
])("CUS-04: %s is an address, wherever one is sent", (address) => {
  const kept = encodeEmail(address);
  expect(CustomerCreate.parse({ email: address }).email).toBe(kept);
  expect(CheckoutCreate.parse({ products: [newId()], customer_email: address }).customer_email).toBe(kept);
  expect(CheckoutConfirm.parse({ customer_email: address }).customer_email).toBe(kept);
});

test.each([
  ["ada@example.com", "ada@example.com"],
  [" \tada@example.com\r\n", "ada@example.com"],
  ["A.B@Example.COM", "A.B@example.com"],
  ["user@münchen.de", "user@xn--mnchen-3ya.de"],
  ["user@MÜNCHEN.DE", "user@xn--mnchen-3ya.de"],
  ["user@mu\u0308nchen.de", "user@xn--mnchen-3ya.de"],
  ["user@XN--Mnchen-3ya.DE", "user@xn--mnchen-3ya.de"],
  ["user@straße.de", "user@xn--strae-oqa.de"],
  ["user@\u212aelvin.com", "user@kelvin.com"],
  ["用户@例子.广告", "用户@xn--fsqu00a.xn--4rr70v"],
  ["JOSE\u0301@Bücher.example", "JOSé@xn--bcher-kva.example"],
  // It encodes nothing, and stays what it is.
  ["user@XN--a.com", "user@xn--a.com"],
])("CUS-01: %j is kept as %j, and so is what is kept", (sent, kept) => {
  expect(CustomerCreate.parse({ email: sent }).email).toBe(kept);
  expect(CustomerUpdate.parse({ email: kept }).email).toBe(kept);
});

test.each([
  ["user@münchen.de", ["user@xn--mnchen-3ya.de", "user@münchen.de"]],
  [" User@XN--mnchen-3ya.de", ["user@xn--mnchen-3ya.de", "user@münchen.de"]],
  ["A.B@Example.COM", ["a.b@example.com"]],
  ["user@xn--a.com", ["user@xn--a.com"]],
  ["nobody", ["nobody"]],
  ["", [""]],
])("CUS-01: rows of %j may have it as %j", (email, spellings) => {
  expect(listSpellings(email)).toEqual(spellings);
});

test("CUS-01, DSC-15: limits for each customer count one domain once, however it is written", () => {
  const keys = ["Ada+1@münchen.de", "ada+2@xn--mnchen-3ya.de", "ada@MÜNCHEN.de"].map(normalizeEmail);
  expect(new Set(keys)).toEqual(new Set(["ada@xn--mnchen-3ya.de"]));
});

test("CUS-15: only a team may be without an address, and only a team has an owner", () => {
  const faults = (body: object) =>
    CustomerCreate.safeParse(body).error?.issues.map(({ path, message }) => `${path.join(".")} ${message}`) ?? [];
  expect(faults({})).toEqual(["email Field required"]);
  expect(faults({ email: null, type: "individual" })).toEqual(["email Field required"]);
  expect(faults({ type: "team" })).toEqual([]);
  expect(faults({ type: "team", owner: null })).toEqual([]);
  expect(faults({ type: "team", owner: { email: "ada@example.com" } })).toEqual([]);
});

describe("update", () => {
  test("CUS-07: absent is untouched, a null e-mail is ignored", () => {
    expect(plan(row(), {})).toEqual({ patch: {}, faults: [] });
    expect(plan(row(), { email: null })).toEqual({ patch: {}, faults: [] });
  });
  test("CUS-08: a new address must be verified again, other letters of the same not", () => {
    expect(plan(row(), { email: "ada@example.com" }).patch).toEqual({ email: "ada@example.com" });
    expect(plan(row(), { email: "b@example.com" }).patch).toEqual({
      email: "b@example.com",
      email_verified: false,
      email_version: 1,
    });
  });
  test.each([
    [null, "a", { external_id: "a" }, []],
    ["a", "a", {}, []],
    ["a", "b", {}, ["external_id value_error"]],
    ["a", null, {}, ["external_id value_error"]],
    ["a", "", {}, ["external_id value_error"]],
    [null, "", {}, []],
  ])("CUS-09: external id %j → %j", (had, sent, patch, faults) => {
    expect(plan(row({ external_id: had }), { external_id: sent })).toEqual({ patch, faults });
  });
  test("CUS-11: a billing address cannot be taken back", () => {
    expect(plan(row({ billing_address: address("FR") }), { billing_address: null }).faults).toEqual([
      "billing_address value_error",
    ]);
    expect(plan(row(), { billing_address: null }).faults).toEqual([]);
  });
  test("CUS-12: a tax number needs a country, fits it, is cleared by nothing, and follows a new address", () => {
    const french = { billing_address: address("FR") };
    expect(plan(row(), { tax_id: "FR61954506077" }).faults).toEqual(["billing_address missing"]);
    expect(plan(row(french), { tax_id: "FR 61 954 506 077" }).patch).toEqual({ tax_id: ["FR61954506077", "eu_vat"] });
    expect(plan(row(french), { tax_id: "12" }).faults).toEqual(["tax_id invalid"]);
    const held = row({ ...french, tax_id: ["FR61954506077", "eu_vat"] });
    expect(plan(held, { tax_id: "" }).patch).toEqual({ tax_id: null });
    expect(plan(held, { tax_id: null }).patch).toEqual({ tax_id: null });
    expect(plan(held, { billing_address: { country: "US", state: "NY" } }).faults).toEqual(["tax_id invalid"]);
    expect(plan(held, { billing_address: { country: "DE" }, tax_id: "DE136695976" }).faults).toEqual([]);
  });
  test("CUS-13: metadata is replaced", () => {
    expect(plan(row({ metadata: { a: 1 } }), { metadata: { b: 2 } }).patch).toEqual({ metadata: { b: 2 } });
  });
  test("CUS-15: a team does not become a person again", () => {
    expect(plan(row(), { type: "team" })).toEqual({ patch: { type: "team" }, faults: [] });
    expect(plan(row({ type: "team" }), { type: "individual" }).faults).toEqual(["type value_error"]);
  });
});

describe("tax numbers", () => {
  test.each([
    ["FR", "61954506077", ["FR61954506077", "eu_vat"]],
    ["GR", "EL094259216", ["EL094259216", "eu_vat"]],
    ["DE", "de 136-695-976", ["DE136695976", "eu_vat"]],
    ["US", "12-3456789", ["123456789", "us_ein"]],
    ["GB", "GB980780684", ["GB980780684", "gb_vat"]],
    ["CH", "CHE-107.787.577 MWST", ["CHE107787577MWST", "ch_vat"]],
    ["BR", "12.345.678/0001-95", ["12345678000195", "br_cnpj"]],
    ["IN", "27AAPFU0939F1ZV", ["27AAPFU0939F1ZV", "in_gst"]],
    ["AU", "51 824 753 556", ["51824753556", "au_abn"]],
    ["NO", "988077917MVA", ["988077917MVA", "no_vat"]],
    ["US", "12", undefined],
    ["AQ", "123456789", undefined],
  ])("CUS-12: %s %s", (country, number, read) => {
    expect(readTaxId(number, country)).toEqual(read);
  });
  test("CUS-12: what is kept is read again as itself", () => {
    fc.assert(
      fc.property(
        fc.constantFrom("FR", "DE", "GR", "ES", "US", "CH", "BR", "CA", "MX", "JP"),
        fc.string({ maxLength: 20 }),
        (country, text) => {
          const read = readTaxId(text, country);
          if (read) expect(readTaxId(read[0], country)).toEqual(read);
        },
      ),
    );
    expect(checkTaxId("x", undefined)).toMatchObject({ type: "missing" });
  });
});

describe("a customer as it is answered", () => {
  test("CUS-05: the picture follows from the lower-case e-mail address; private columns stay inside", () => {
    const out = serializeCustomer(row());
    expect(out.avatar_url).toBe(serializeCustomer(row({ email: "ada@example.com" })).avatar_url);
    expect(out.avatar_url).toMatch(/^https:\/\//);
    expect(Object.keys(out)).not.toContain("deleted_external_id");
  });
  test("CUS-20: a person becomes unreadable, a business keeps its name, and twice is once", () => {
    const mask = (text: string) => `m${text.length}`;
    const now = new Date(1);
    const person = planAnonymization(row({ billing_name: "Ada L", billing_address: address("FR") }), mask, now);
    expect(person).toMatchObject({ email: "m15@anonymized.invalid", name: "m3", billing_name: null });
    // Of all that an address has, the places that many people share are kept.
    const full = {
      line1: "1 Way",
      line2: "Flat 2",
      postal_code: "75001",
      city: "Paris",
      state: "FR-IDF",
      country: "FR",
    };
    const kept = { line1: null, line2: null, postal_code: null, city: null, state: "FR-IDF", country: "FR" };
    expect(planAnonymization(row({ billing_address: full as never }), mask, now).billing_address).toEqual(kept);
    const business = planAnonymization(row({ tax_id: ["FR61954506077", "eu_vat"], billing_name: "ACME" }), mask, now);
    expect(business).toMatchObject({ name: "Ada", billing_name: "ACME" });
    expect(planAnonymization(row({ anonymized_at: now }), mask, now)).toEqual({});
  });
});

test("CUS-27: a line of an export has a cell for each head, and an empty one for what is not known", () => {
  const cells = exportCells(
    row({ billing_address: address("FR"), tax_id: ["FR1", "eu_vat"], metadata: { a: 1 } } as never),
  );
  expect(Object.fromEntries(exportHeader.map((name, index) => [name, cells[index]]))).toMatchObject({
    ...{ Email: "Ada@Example.com", "Tax ID": "FR1", "Billing Address City": "Town", "Billing Address Zip": "1" },
    ...{ "Billing Address Country": "FR", "Billing Address Line 2": null, Metadata: '{"a":1}' },
  });
  expect(exportCells(row())).toHaveLength(exportHeader.length);
});

test.each([
  ["ada@example.com", "ADA@Example.com", true],
  ["ada@bücher.example", "ada@xn--bcher-kva.example", true],
  ["ada+a@example.com", "ada@example.com", false],
  [null, "ada@example.com", false],
])("CUS-01: %s and %s are one address: %s", (one, other, same) => {
  expect(isSameEmail(one, other)).toBe(same);
});

describe("somebody is forgotten (CUS-20)", () => {
  const known = row({ name: "Ada Lovelace", billing_name: "Ada King", billing_address: address("FR") });
  const words = getWords(known);
  test("of an address stays what taxes are computed from", () => {
    const region = { country: "FR", state: null, line1: null, line2: null, postal_code: null, city: null };
    expect(getRegion(address("FR"))).toEqual(region);
  });
  test.each([
    ["names of more than one word, and the street", known, ["Ada Lovelace", "Ada King", "1 Way"]],
    ["a name that stands twice once", row({ name: "Ada King", billing_name: "Ada King" }), ["Ada King"]],
    ["no name of one word", row({ name: "Ada" }), []],
    ["no name of a business", { ...known, tax_id: ["FR1", "eu_vat"] as never }, ["1 Way"]],
  ])("looks for %s", (_, of, names) => {
    expect(getWords(of).names).toEqual(names);
  });
  const left = row({ email: "masked@anonymized.invalid", name: "masked" });
  test("takes addresses and names out of texts in any case, and nothing else", () => {
    const replace = createTextScrubber(left, words);
    expect(replace("To ADA@example.com from ada lovelace at 1 way.")).toBe("To masked@anonymized.invalid from … at ….");
    expect(createTextScrubber(left, { emails: ["a.b@c.d"], names: [] })("axb@c.d")).toBe("axb@c.d");
    expect(createTextScrubber(left, { emails: [], names: [] })("Ada Lovelace")).toBe("Ada Lovelace");
  });
  test("changes fields of what is about them, and leaves those of others", () => {
    const told = {
      customer_id: left.id,
      customer: { id: left.id, email: "Ada@Example.com", name: "Ada Lovelace", metadata: { a: 1 } },
      customer_name: "Ada",
      account_id: "account",
      product: { name: "Guide", metadata: { b: 2 } },
    };
    expect(redactWords([told, { customer_id: "another", customer_name: "Bob" }], left, words)).toEqual([
      {
        customer_id: left.id,
        customer: { id: left.id, email: left.email, name: "masked", metadata: {} },
        customer_name: null,
        product: { name: "Guide", metadata: { b: 2 } },
      },
      { customer_id: "another", customer_name: "Bob" },
    ]);
  });
  test("leaves a mask also of somebody without an address", () => {
    expect(describeErased(row({ email: null }), words).masked_email).toBe(`${row().id}@anonymized.invalid`);
    expect(describeErased(left, words).masked_email).toBe(left.email);
  });
});
