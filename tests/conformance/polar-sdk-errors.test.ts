/** What the official SDKs of three generations throw, each by its own classes: refusals that they can read. */
import { createPolar } from "@polar-sh/sdk/2026-10";
import { Polar as Polar38 } from "polar-sdk-0.38";
import { Polar as Polar49 } from "polar-sdk-0.49";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { newId } from "../support/ids.ts";

let floe: Floe;
let seller: Seller;
let product: { id: string };
beforeAll(async () => {
  floe = await start({ listen: true });
  seller = await floe.seller();
  product = await seller.client.products.create({
    body: { name: "Guide", prices: [{ amount_type: "fixed", price_amount: 1900 }] },
  });
});
afterAll(() => floe.close());

type Thrown = { statusCode: number; error?: { detail: unknown }; data$?: { detail: unknown } } & Error;
const thrownBy = async (calling: Promise<unknown>): Promise<Thrown> => {
  const error = await calling.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof Error)) throw new Error("Nothing was thrown.");
  return error as Thrown;
};
const nameOf = (error: Thrown) => [error.constructor.name, error.statusCode];
const versioned = () => createPolar({ baseUrl: floe.url, accessToken: seller.key } as never);
const generations = [
  ["0.38.1", () => new Polar38({ serverURL: floe.url, accessToken: seller.key })],
  ["0.49.0", () => new Polar49({ serverURL: floe.url, accessToken: seller.key })],
] as const;

describe("a checkout whose external id has come to be another customer's", () => {
  const checkout = async () => {
    const external_customer_id = newId();
    const made = await seller.client.checkouts.create({ body: { products: [product.id], external_customer_id } });
    const email = `${external_customer_id}@example.com`;
    await seller.client.customers.create({ body: { email, external_id: external_customer_id } });
    return made.client_secret;
  };
  const email = "somebody@example.com";

  test.each(generations)("%s reads the list of faults", async (_, open) => {
    const checkoutConfirmStripe = {
      customerEmail: email,
      customerBillingAddress: { country: "FR" as const },
      confirmationTokenId: "pm_card_visa",
    };
    const clientSecret = await checkout();
    const error = await thrownBy(open().checkouts.clientConfirm({ clientSecret, checkoutConfirmStripe }));
    expect(nameOf(error)).toEqual(["HTTPValidationError", 422]);
    expect(error.data$?.detail).toMatchObject([{ loc: ["body", "customer_email"] }]);
  });

  test("1.0.1 reads the list of faults", async () => {
    const body = {
      customer_email: email,
      customer_billing_address: { country: "FR" },
      confirmation_token_id: "pm_card_visa",
    };
    const error = await thrownBy(versioned().checkouts.clientConfirm(await checkout(), body as never));
    expect(nameOf(error)).toEqual(["HTTPValidationError", 422]);
    expect(error.error?.detail).toMatchObject([{ loc: ["body", "customer_email"] }]);
  });
});

describe("an operation that is not there", () => {
  test("is not found, by whatever method, though the call names JSON and has no body", async () => {
    const id = newId();
    for (const path of ["/v1/nothing", `/v1/nothing/${id}`, `/v1/products/${id}/nothing`]) {
      for (const method of ["GET", "POST", "PATCH", "PUT", "DELETE"]) {
        for (const body of [undefined, "", "{", "{}"].slice(0, method === "GET" ? 1 : 4)) {
          const headers = { authorization: `Bearer ${seller.key}`, "content-type": "application/json" };
          const answer = await fetch(`${floe.url}${path}`, {
            method,
            headers,
            ...(body === undefined ? {} : { body }),
          });
          const told = { method, path, body, status: answer.status, json: await answer.json() };
          const json = { error: "ResourceNotFound", detail: "Not found" };
          expect(told).toEqual({ method, path, body, status: 404, json });
        }
      }
    }
  });

  test("1.0.1 throws neither a fault of what was sent nor a lack of billing details", async () => {
    const { subscriptions, customerSeats, products, orders } = versioned();
    const id = newId();
    const calls: Record<string, () => Promise<unknown>> = {
      "subscriptions.revoke": () => subscriptions.revoke(id),
      "customerSeats.revokeSeat": () => customerSeats.revokeSeat(id),
      "products.delete": () => products.delete(id),
      "orders.generateInvoice": () => orders.generateInvoice(id),
    };
    for (const [name, call] of Object.entries(calls)) {
      const error = await thrownBy(call());
      expect([name, error.statusCode, error.message]).toEqual([name, 404, expect.stringContaining("404")]);
    }
  });
});
