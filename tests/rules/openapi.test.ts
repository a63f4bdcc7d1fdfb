import { describe, expect, test } from "vitest";
import { describeContract } from "../../server/platform/http/openapi.ts";
import { api } from "../../shared/api/index.ts";
import { payloads } from "../../shared/events.ts";

type Json = Record<string, unknown>;
const document = describeContract(api, "https://pay.example.com") as {
  paths: Record<string, Record<string, { operationId: string; requestBody?: Json; responses: Record<string, Json> }>>;
  webhooks: Record<string, { post: { requestBody: Json } }>;
  components: { schemas: Record<string, Json> };
};
const text = JSON.stringify(document);
const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods));

describe("the document", () => {
  test("calls operations by their published names, each once", () => {
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toEqual(
      expect.arrayContaining([
        "products:list",
        "products:update_benefits",
        "benefits:create",
        "checkout-links:update",
        "custom-fields:get",
        "checkouts:client_confirm",
        "customers:get_state_external",
        "files:uploaded",
        "webhooks:list_webhook_endpoints",
        "webhooks:reset_webhook_endpoint_secret",
        "webhooks:redeliver_webhook_event",
      ]),
    );
    expect(ids.filter((id) => !/^[a-z0-9_-]+(:[a-z_-]+){1,2}$/.test(id))).toEqual([]);
  });

  test("names its shapes, refers to them everywhere, and to nothing that is not there", () => {
    const { schemas } = document.components;
    const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = ""]) => ref);
    const unknown = refs.filter((ref) => !(ref.replace("#/components/schemas/", "") in schemas));
    expect([refs.length > 200, unknown]).toEqual([true, []]);
    for (const name of ["Product", "ProductCreate", "ListResource_Product_", "CheckoutPublic", "Customer", "Address"])
      expect(schemas).toHaveProperty(name);
    const list = document.paths["/v1/products/"]?.get?.responses["200"];
    expect(JSON.stringify(list)).toContain("#/components/schemas/ListResource_Product_");
    expect(text.length).toBeLessThan(1_260_000);
  });

  test("names each kind of what is one of several, and says what a change of each may hold", () => {
    const { schemas } = document.components;
    const unnamed = Object.entries(schemas).flatMap(([name, { anyOf, oneOf }]) =>
      ((anyOf ?? oneOf ?? []) as Json[]).some(({ properties }) => properties) ? [name] : [],
    );
    expect(unnamed).toEqual([]);
    for (const name of ["BenefitLicenseKeysCreate", "CustomFieldSelectProperties", "ProductPriceFixed", "CardPayment"])
      expect(schemas).toHaveProperty(name);
    const propertiesOf = (name: string) => JSON.stringify((schemas[name]?.properties as Json | undefined)?.properties);
    expect(propertiesOf("BenefitUpdate")).toContain("#/components/schemas/BenefitLicenseKeysCreateProperties");
    expect(propertiesOf("CustomFieldUpdate")).toContain("#/components/schemas/CustomFieldSelectProperties");
    // A filter holds filters: said once, however deep one is read.
    expect(JSON.stringify(schemas.Filter)).toContain("#/components/schemas/Filter");
  });

  test("has every event that is sent, with the object that its own operation answers", () => {
    expect(Object.keys(document.webhooks).sort()).toEqual(Object.keys(payloads).sort());
    const sent = document.components.schemas.WebhookOrderPaidPayload as { properties: Record<string, Json> };
    expect(sent.properties.type).toEqual({ type: "string", const: "order.paid" });
    expect(sent.properties.data).toEqual({ $ref: "#/components/schemas/Order" });
  });
});
