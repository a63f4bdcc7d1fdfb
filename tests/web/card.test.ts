import { describe, expect, test } from "vitest";
import { messages } from "../../shared/messages/en/checkout.ts";
import { resolveSafePath } from "../../web/account/safe-path.ts";
import { findBrand, findCardFaults, formatExpiry, formatNumber, readExpiry } from "../../web/card.ts";
import { match } from "../../web/router.tsx";

describe("a card as it is typed", () => {
  test.each([
    ["4242424242424242", "4242 4242 4242 4242", "Visa"],
    ["5555555555554444", "5555 5555 5555 4444", "Mastercard"],
    ["2223003122003222", "2223 0031 2200 3222", "Mastercard"],
    ["378282246310005", "3782 822463 10005", "Amex"],
    ["36227206271667", "3622 720627 1667", "Diners"],
    ["6011111111111117", "6011 1111 1111 1117", "Discover"],
    ["3566002020360505", "3566 0020 2036 0505", "JCB"],
    ["4242-4242 42", "4242 4242 42", "Visa"],
    ["9", "9", ""],
    ["", "", ""],
  ])("%s is grouped as %s and known as '%s'", (typed, shown, brand) => {
    expect(formatNumber(typed)).toBe(shown);
    expect(findBrand(typed).name).toBe(brand);
  });

  test.each([
    ["1", "1"],
    ["5", "05"],
    ["12", "12"],
    ["127", "12 / 7"],
    ["1227", "12 / 27"],
    ["5/27", "05 / 27"],
    ["05/2027", "05 / 27"],
    ["12 / ", "12"],
  ])("an expiry date typed as '%s' reads '%s'", (typed, shown) => {
    expect(formatExpiry(typed)).toBe(shown);
  });

  test("an expiry date counts to the end of its month", () => {
    const today = new Date(2026, 10, 21);
    const card = { card_number: "4242 4242 4242 4242", card_cvc: "123" };
    expect(findCardFaults({ ...card, card_expiry: "11 / 26" }, messages, today)).toEqual({});
    expect(findCardFaults({ ...card, card_expiry: "10 / 26" }, messages, today)).toEqual({
      card_expiry: "It has expired.",
    });
    expect(readExpiry("13 / 27")).toBeUndefined();
  });

  test("slips are found: a wrong digit, a number cut short, a short code", () => {
    const card = { card_number: "4242 4242 4242 4242", card_expiry: "12 / 40", card_cvc: "123" };
    expect(findCardFaults(card, messages)).toEqual({});
    expect(findCardFaults({ ...card, card_number: "4242 4242 4242 4243" }, messages).card_number).toMatch(/not valid/);
    expect(findCardFaults({ ...card, card_number: "4242 4242" }, messages).card_number).toMatch(/incomplete/);
    expect(findCardFaults({ ...card, card_number: "3782 822463 10005" }, messages).card_cvc).toBe("It has 4 digits.");
    expect(Object.keys(findCardFaults({ card_number: "", card_expiry: "", card_cvc: "" }, messages))).toHaveLength(3);
  });
});

describe("the router", () => {
  test("a pattern takes its parameters and nothing else", () => {
    expect(match("/checkout/:client_secret", "/checkout/abc")).toEqual({ client_secret: "abc" });
    expect(match("/checkout/:client_secret", "/checkout/abc/")).toEqual({ client_secret: "abc" });
    expect(match("/checkout/:client_secret", "/checkout/abc/confirmation")).toBeUndefined();
    expect(match("/checkout/:client_secret", "/checkout/")).toBeUndefined();
    expect(match("/demo", "/demo")).toEqual({});
  });

  test.each([
    ["/device?user_code=A", "/device?user_code=A"],
    ["https://evil.example/", "/"],
    ["//evil.example/", "/"],
    ["/\\evil.example/", "/"],
    ["/\t/evil.example/", "/"],
    ["/.//evil.example/", "/"],
    ["/x/..//evil.example/", "/"],
    ["/..//evil.example/", "/"],
    ["/./\\evil.example/", "/"],
    ["/%2e//evil.example/", "/"],
    ["/.//evil.example@floe.example/", "/"],
    ["/account?next=//evil.example#//evil.example", "/account?next=//evil.example#//evil.example"],
    ["javascript:alert(1)", "/"],
    [null, "/"],
  ])("after signing in, %s leads to %s", (next, path) => {
    expect(resolveSafePath(next, "/", "https://floe.example")).toBe(path);
  });
});
