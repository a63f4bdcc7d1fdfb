import { sql } from "drizzle-orm";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { newId } from "../../server/lib/ids.ts";
import { type Api, api } from "../../shared/api/index.ts";
import { urlOf } from "../../shared/client.ts";
import type { Operation } from "../../shared/contract.ts";
import { statusOf } from "../../shared/errors.ts";
import { expandScopes, scopes } from "../../shared/scopes.ts";
import { badTexts, badValues, placesOf, withValue } from "../support/bad-values.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { bodyOf, type Row, rowOf } from "../support/rows.ts";

type Entry = { title: string; resource: keyof Api; name: string; op: Operation };
const operations: Entry[] = Object.entries(api).flatMap(([resource, ops]) =>
  Object.entries(ops).map(([name, op]) => ({
    title: `${resource}.${name}`,
    resource: resource as keyof Api,
    name,
    op: op as Operation,
  })),
);
const guarded = operations.filter(({ op }) => op.scopes.length > 0);
const withParams = operations.filter(({ op }) => op.params);
const lists = operations.filter(
  ({ op }) =>
    op.method === "GET" && op.response instanceof z.ZodObject && "pagination" in op.response.shape && !op.params,
);
const withBody = operations.filter(({ op }) => op.body);
const patches = withBody.filter(({ op }) => op.method === "PATCH");

const runs_per_operation = 80;
/** A fixed seed, so that a failure is found again; another one looks elsewhere. */
const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);

let floe: Floe;
let seller: Seller;
let other: Seller;
let product_id: string;
const rows = new Map<keyof Api, Row>();

beforeAll(async () => {
  floe = await start();
  seller = await floe.seller("ada");
  other = await floe.seller("bob");
  for (const resource of Object.keys(api) as (keyof Api)[]) rows.set(resource, await rowOf[resource](floe, seller));
  product_id = rows.get("products")?.params.id ?? "";
});
afterAll(() => floe?.close());

type Options = { token?: string; body?: unknown; query?: Record<string, unknown>; params?: Record<string, string> };
let number = 0;
const paramsOf = ({ resource, name }: Entry): Record<string, string> => {
  const row = rows.get(resource);
  if (!row) throw new Error(`There is no row of ${resource}.`);
  return row.of?.[name] ?? row.params;
};
const unknownParams = ({ op }: Entry): Record<string, string> =>
  Object.fromEntries(Object.entries(op.params?.shape ?? {}).map(([key]) => [key, key === "id" ? newId() : "nobody"]));
/** A body that the operation accepts. */
const sampleOf = ({ title, op }: Entry): unknown => {
  if (!op.body) return undefined;
  if (op.method === "PATCH") return {};
  const sample = bodyOf[title];
  if (!sample) throw new Error(`Add a sample body for ${title} to tests/support/rows.ts.`);
  number += 1;
  return sample(product_id, number);
};
async function call(entry: Entry, options: Options = {}) {
  const { token, query = {} } = options;
  const body = "body" in options ? options.body : sampleOf(entry);
  const url = urlOf(entry.op.path, { params: options.params ?? paramsOf(entry), query });
  const { status, json, text } = await floe.request(entry.op.method, url, {
    ...(token === undefined ? {} : { token }),
    ...(body === undefined ? {} : { body }),
  });
  return {
    status,
    text,
    json: json as { error?: string; detail?: { loc: unknown[]; type: string; msg: string }[]; items?: unknown[] },
  };
}
const errorOf = async (answer: ReturnType<typeof call>) => {
  const { status, json } = await answer;
  return `${status} ${json?.error ?? ""}`;
};
const eventCount = async (): Promise<number> => {
  const result = (await floe.deps.db.execute(sql`select count(*)::int as total from events`)) as unknown as {
    rows: { total: number }[];
  };
  return result.rows[0]?.total ?? -1;
};
/** The words of the first list of words in a schema. */
function enumOf(schema: object): string[] {
  if ("enum" in schema) return schema.enum as string[];
  for (const inner of Object.values(schema)) {
    const found = typeof inner === "object" && inner !== null ? enumOf(inner) : [];
    if (found.length > 0) return found;
  }
  return [];
}
const faultsLogged = () => floe.logged.filter((line) => line.startsWith("error"));
/** What a documented refusal of this operation may have for a status. */
const refusals = ({ op }: Entry) =>
  new Set<number>([401, 403, 422, ...(op.errors ?? []).map((name) => statusOf[name])]);

test("the tests saw the contract", () => {
  expect(operations.length).toBeGreaterThan(30);
  expect(lists.length).toBeGreaterThan(6);
});

describe.each(guarded)("$title, who may", (entry) => {
  const { op } = entry;
  test("API-24: without a token 401 Unauthorized, also for a token that is not one", async () => {
    expect(await errorOf(call(entry))).toBe("401 Unauthorized");
    expect(await errorOf(call(entry, { token: "undefined" }))).toBe("401 Unauthorized");
  });

  test("API-26: a key without any of its scopes is 403 insufficient_scope", async () => {
    const useless = scopes.filter((scope) => !op.scopes.some((needed) => expandScopes([scope]).has(needed)));
    const key = await floe.keyOf(seller, useless);
    expect(await errorOf(call(entry, { token: key }))).toBe("403 insufficient_scope");
  });
});

test.each(operations)("API-25: $title with a bad token is 401 invalid_token, public or not", async (entry) => {
  for (const token of ["polar_oat_wrong", "\u00e9\u00e9", `${seller.key}x`]) {
    expect(await errorOf(call(entry, { token: encodeURI(token) }))).toBe("401 invalid_token");
  }
});

test.each(operations)("API-31: $title answers with and without a slash at the end", async ({ op }) => {
  const path = urlOf(op.path, {
    params: Object.fromEntries(Object.keys(op.params?.shape ?? {}).map((key) => [key, newId()])),
  }).replace(/\/$/, "");
  for (const url of [path, `${path}/`]) {
    const { status } = await floe.request(op.method, url, { token: "wrong", ...(op.body ? { body: {} } : {}) });
    expect(`${url} ${status}`).toBe(`${url} 401`);
  }
});

describe.each(withParams)("$title, what is there", (entry) => {
  const token = () => (entry.op.scopes.length > 0 ? seller.key : undefined);
  const as = () => (token() === undefined ? {} : { token: token() as string });

  test("API-22: an unknown id is 404 ResourceNotFound", async () => {
    expect(await errorOf(call(entry, { ...as(), params: unknownParams(entry) }))).toBe("404 ResourceNotFound");
  });

  test("API-22: a malformed id is 422 at its place", async () => {
    const ids = Object.entries(entry.op.params?.shape ?? {}).filter(
      ([, schema]) => !(schema as { safeParse(value: unknown): { success: boolean } }).safeParse("x").success,
    );
    for (const [key] of ids) {
      const { status, json } = await call(entry, { ...as(), params: { ...paramsOf(entry), [key]: "not-an-id" } });
      expect([status, json.detail?.[0]?.loc]).toEqual([422, ["path", key]]);
    }
  });

  test.runIf(entry.op.scopes.length > 0)(
    "PRD-37, API-22: another organization's is 404 ResourceNotFound, by key and by session",
    async () => {
      for (const foreign of [other.key, other.session]) {
        expect(await errorOf(call(entry, { token: foreign }))).toBe("404 ResourceNotFound");
      }
    },
  );
});

describe.each(lists)("$title", (entry) => {
  test("API-11: shows the organization's own rows and never another's", async () => {
    const mine = await call(entry, { token: seller.key });
    expect(mine.status).toBe(200);
    expect(mine.json.items?.length).toBeGreaterThan(0);
    for (const token of [other.key, other.session]) {
      const theirs = await call(entry, { token });
      expect(theirs.status).toBe(200);
      expect(theirs.text).not.toContain(seller.organization_id);
    }
    if (entry.op.query && "organization_id" in entry.op.query.shape) {
      const asked = await call(entry, { token: other.key, query: { organization_id: seller.organization_id } });
      expect([asked.status, asked.json.items]).toEqual([200, []]);
    }
  });

  test("API-13: pages begin at 1, a limit above 100 is clamped, and beyond the end is empty", async () => {
    for (const query of [{ page: 0 }, { limit: 0 }, { page: -1 }, { page: "x" }])
      expect((await call(entry, { token: seller.key, query })).status).toBe(422);
    expect((await call(entry, { token: seller.key, query: { limit: 1000 } })).status).toBe(200);
    const beyond = await call(entry, { token: seller.key, query: { page: 1_000_000 } });
    expect([beyond.status, beyond.json.items]).toEqual([200, []]);
  });

  test("API-15: every sort key works in both directions, another is 422 enum", async () => {
    const sorting = entry.op.query?.shape.sorting;
    if (!sorting) return;
    const keys = enumOf(z.toJSONSchema(sorting as z.ZodType, { io: "input", unrepresentable: "any" }));
    expect(keys.length).toBeGreaterThan(1);
    for (const key of keys)
      expect(`${key} ${(await call(entry, { token: seller.key, query: { sorting: key } })).status}`).toBe(`${key} 200`);
    const wrong = await call(entry, { token: seller.key, query: { sorting: "nonsense" } });
    expect([wrong.status, wrong.json.detail?.[0]?.type, wrong.json.detail?.[0]?.loc.slice(0, 2)]).toEqual([
      422,
      "enum",
      ["query", "sorting"],
    ]);
  });

  test("bad values of any filter are 200 or 422, never a fault of ours", async () => {
    const logged = faultsLogged();
    for (const key of [...Object.keys(entry.op.query?.shape ?? {}), "metadata[key]", "metadata", "nonsense"]) {
      for (const value of badTexts) {
        const { status } = await call(entry, { token: seller.key, query: { [key]: value } });
        expect([200, 422], `${key}=${value.slice(0, 40)} answered ${status}`).toContain(status);
        const twice = await call(entry, { token: seller.key, query: { [key]: [value, value] } });
        expect([200, 422], `${key} twice ${value.slice(0, 40)} answered ${twice.status}`).toContain(twice.status);
      }
    }
    expect(faultsLogged().slice(logged.length)).toEqual([]);
  });
});

describe.each(patches)("$title", (entry) => {
  test("API-07: an empty change answers 200 and changes nothing", async () => {
    const reader =
      operations.find(({ op }) => op.method === "GET" && op.path === entry.op.path) ??
      lists.find(({ resource }) => resource === entry.resource);
    if (!reader) throw new Error("What can be changed can be read.");
    const token = entry.op.scopes.length > 0 ? { token: seller.key } : {};
    const before = await call(reader, token);
    floe.clock.advance(1000);
    const { status } = await call(entry, { ...token, body: {} });
    expect(status).toBe(200);
    expect((await call(reader, token)).json).toEqual(before.json);
  });
});

describe.each(withBody)("$title, bad bodies", (entry) => {
  const token = () => (entry.op.scopes.length > 0 ? { token: seller.key } : {});

  test("API-21: a body that is not JSON is 422 and says so", async () => {
    for (const body of ["{", "nonsense", "{'a':1}", '{"a":1}}', "[".repeat(50_000)]) {
      const { status, json } = await call(entry, { ...token(), body });
      expect([status, json.detail?.[0]?.loc]).toEqual([422, ["body"]]);
    }
    for (const body of ["[]", '"x"', "1", "true"]) expect((await call(entry, { ...token(), body })).status).toBe(422);
  });

  test("whatever stands anywhere in it, the answer is a documented one, and a refused request changed nothing", async () => {
    const places = placesOf(entry.op.body as never);
    const allowed = refusals(entry);
    const logged = faultsLogged();
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...places), fc.constantFrom(...badValues)), { minLength: 1, maxLength: 2 }),
        async (changes) => {
          const body = changes.reduce<unknown>(
            (made, [place, value]) => withValue(made, place, value),
            sampleOf(entry),
          );
          const before = await eventCount();
          const { status, text } = await call(entry, { ...token(), body: JSON.stringify(body) });
          const fine = status === (entry.op.status ?? 200) || allowed.has(status);
          if (!fine) throw new Error(`${status} ${text}\n${faultsLogged().at(-1)}`);
          if (status === 422) expect(await eventCount()).toBe(before);
        },
      ),
      { numRuns: runs_per_operation, seed },
    );
    expect(faultsLogged().slice(logged.length)).toEqual([]);
  });
});
