import { HTTPClient } from "polar-sdk-0.38/lib/http.js";
import { SDKValidationError } from "polar-sdk-0.38/models/errors/sdkvalidationerror.js";
import { Polar } from "polar-sdk-0.38/sdk/sdk.js";
import { afterAll, afterEach, beforeAll, expect, vi } from "vitest";
import { errors } from "../../fixtures/accounts-rows.ts";
import { type Catalogue, startCatalogue } from "../../support/catalogue.ts";
import { newId } from "../../support/ids.ts";
import { type Signed, signedEvent, verdictOn } from "../../support/signed-event.ts";
import { checkTable } from "../../support/table.ts";

let floe: Catalogue;
let sent: Signed;
beforeAll(async () => {
  sent = await signedEvent();
  floe = await startCatalogue();
});
afterEach(() => vi.unstubAllGlobals());
afterAll(() => floe.close());

/** The receiver's words on it, once something was changed on the way. */
const changed = (change: Partial<Signed>) => {
  const at = sent.headers["webhook-timestamp"];
  return verdictOn({ ...sent, ...change }, at === undefined ? {} : { at });
};

// The texts are those of the public library that receivers use, of what floe really sends.
checkTable("8. Webhooks", errors.webhooks, {
  "Missing required headers": ({ name }) => {
    expect(verdictOn(sent)).toBe("accepted");
    for (const header of ["webhook-id", "webhook-signature", "webhook-timestamp"]) {
      const { [header]: taken, ...headers } = sent.headers;
      expect([taken, changed({ headers })]).toEqual([expect.any(String), name]);
    }
  },
  "No matching signature found": ({ name }) => {
    expect(changed({ body: sent.body.replace("product", "produce") })).toBe(name);
    expect(changed({ headers: { ...sent.headers, "webhook-id": newId() } })).toBe(name);
    expect(changed({ secret: `${sent.secret}x` })).toBe(name);
  },
  "Message timestamp too old": ({ name }) => expect(verdictOn(sent, { after: 301 })).toBe(name),
  "Message timestamp too new": ({ name }) => expect(verdictOn(sent, { after: -301 })).toBe(name),
  "Invalid Signature Headers": ({ name }) =>
    expect(changed({ headers: { ...sent.headers, "webhook-timestamp": "yesterday" } })).toBe(name),
});

checkTable("8. Billing data", errors.billing, {
  // The official SDK of the generation that the specification describes, on answers of floe's that are changed on the way.
  "A response that does not match its shape raises SDKValidationError": async () => {
    const seller = await floe.seller();
    const prices = [{ amount_type: "fixed" as const, price_amount: 1900 }];
    const { id } = await seller.client.products.create({ body: { name: "Guide", prices } });
    const answered = (change: (product: Record<string, unknown>) => void) =>
      new Polar({
        serverURL: floe.url,
        accessToken: seller.key,
        httpClient: new HTTPClient({
          fetcher: async (input, init) => {
            const answer = await fetch(input, init);
            const product = await answer.json();
            change(product);
            return Response.json(product, { status: answer.status });
          },
        }),
      }).products.get({ id });
    expect(await answered(() => undefined)).toMatchObject({ id, name: "Guide" });
    const failure = async (change: Parameters<typeof answered>[0]) => {
      const error = await answered(change).catch((thrown: unknown) => thrown);
      expect(error).toBeInstanceOf(SDKValidationError);
      return { raw: (error as SDKValidationError).rawMessage, text: (error as SDKValidationError).pretty() };
    };
    const two = await failure((product) => Object.assign(product, { is_archived: "no", name: 7 }));
    expect(two.text.startsWith(`${two.raw}\n┌ 2 issues found:`)).toBe(true);
    expect(two.text).toMatch(/\[<root>\.is_archived\]: Expected boolean, received string \(invalid_type\)/);
    expect(two.text).toMatch(/Want: string\n.*Got: number/);
    const one = await failure((product) => Object.assign(product, { recurring_interval: "fortnight" }));
    expect(one.text).toContain("1 issue found");
    expect(one.text).toMatch(/Allowed: day, week, month, year\n.*Got: fortnight/);
  },
  // Raised by floe's own client; over HTTP the message is in the answer.
  "Checkout: the error message from the response is raised": async () => {
    const someone = await floe.person();
    const body = { products: [newId()] };
    const { status, json } = await someone.post("/checkout", { ...body, redirect: false, embedOrigin: floe.url });
    expect([status, json]).toMatchObject([400, { code: expect.any(String), message: expect.any(String) }]);
    const send = fetch;
    vi.stubGlobal("fetch", (path: string, given: RequestInit) => send(new URL(path, floe.url), given));
    vi.stubGlobal("location", new URL(floe.url));
    const { startCheckout: checkout } = await import("../../../web/auth-client.ts");
    await expect(checkout(body)).rejects.toThrow(String(json.message));
  },
});
