/** The published schemas: every one of the list is served, is a schema, and describes what is answered. */
import { Ajv } from "ajv";
import { Ajv2020 } from "ajv/dist/2020.js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";

let floe: Floe;
let seller: Seller;
let schemas: Record<string, string>;
beforeAll(async () => {
  floe = await start();
  seller = await floe.seller();
  const { json, headers } = await floe.request("GET", "/schemas/v1/");
  expect(headers["cache-control"]).toBe("public, max-age=3600");
  ({ schemas } = json as { schemas: Record<string, string> });
});
afterAll(() => floe.close());
const read = async (name: string) => {
  const address = schemas[name] ?? "";
  const answer = await floe.request("GET", address.replace(floe.deps.config.url, ""));
  expect([answer.status, answer.headers["access-control-allow-origin"]]).toEqual([200, "*"]);
  expect(answer.json).toMatchObject({ $id: address });
  return answer.json as object;
};
const options = { strict: false, validateFormats: false };

test("every schema of the list is served without a token, under the address that it gives itself", async () => {
  expect(Object.keys(schemas).length).toBeGreaterThan(110);
  for (const name of Object.keys(schemas)) {
    const schema = await read(name);
    const ajv = name === "floe.yaml" ? new Ajv(options) : new Ajv2020(options);
    expect(ajv.validateSchema(schema), name).toBe(true);
  }
});

test("the schema of a list is that of its rows, as the command line shows them", async () => {
  await seller.client.customers.create({ body: { email: "ada@example.com" } });
  const { json } = await floe.request("GET", "/v1/customers/", { token: seller.key });
  const check = new Ajv2020(options).compile(await read("customers.list"));
  expect(check((json as { items: unknown[] }).items)).toBe(true);
  expect([check([{ id: 1 }]), check(json)]).toEqual([false, false]);
});

test("the schemas of floe.yaml and of errors tell right from wrong", async () => {
  const catalog = new Ajv(options).compile(await read("floe.yaml"));
  const products = { pro: { name: "Pro", price: "19.00 usd/month" } };
  expect(catalog({ version: 1, catalog: "main", products })).toBe(true);
  expect(catalog({ version: 1, catalog: "main", products: { pro: { nme: "Pro" } } })).toBe(false);
  const failure = new Ajv2020(options).compile(await read("error"));
  expect(failure({ error: "usage", message: "unknown option", exit_code: 64 })).toBe(true);
  expect(failure({ message: "unknown option" })).toBe(false);
});

test("what buyers are answered and names that there are not have none", async () => {
  expect(Object.keys(schemas).filter((name) => name.startsWith("portal"))).toEqual([]);
  for (const name of ["nothing", "products", "../package", "customers.list.json"])
    expect((await floe.request("GET", `/schemas/v1/${name}.json`)).status).toBe(404);
});
