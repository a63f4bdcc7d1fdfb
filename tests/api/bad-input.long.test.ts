import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { describeContract, getOperationId } from "../../server/platform/http/openapi.ts";
import { api } from "../../shared/api/index.ts";
import { formatUrl } from "../../shared/request.ts";
import {
  badRaw,
  badTexts,
  badValues,
  placesOf,
  rawBodies,
  rawTypes,
  withRaw,
  withValue,
} from "../support/bad-values.ts";
import {
  type Entry,
  type Operations,
  operations,
  startOperations,
  withBody,
  withParams,
} from "../support/operations.ts";
import { bodyValue } from "../support/samples.ts";

/** Whatever is sent to an operation, the answer is one that its contract names: never a fault of ours. */

/** A fixed seed, so that a failure is found again; another one looks elsewhere, and more runs look further. */
const seed = Number(process.env.FLOE_TEST_SEED ?? 4455);
const runsPerBody = Number(process.env.FLOE_TEST_RUNS ?? 20);

const { paths } = describeContract(api, "") as {
  paths: Record<string, Record<string, { operationId: string; responses: object }>>;
};
const documented = new Map(
  Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .map(({ operationId, responses }) => [
      operations.find(({ resource, name, op }) => getOperationId(resource, name, op) === operationId)?.title,
      Object.keys(responses).map(Number),
    ]),
);
/** About the way a request comes: not said with each operation. */
const anywhere = [411, 413, 415];

let all: Operations;
beforeAll(async () => {
  all = await startOperations();
});
afterAll(() => all?.floe.close());

/** What is wrong with an answer, if anything is. */
function unfair(
  { title }: Entry,
  what: string,
  { status, text }: { status: number; text: string },
  more: number[] = [],
) {
  if ([...(documented.get(title) ?? []), ...anywhere, ...more].includes(status)) return [];
  return [`${what.slice(0, 200)} answered ${status} ${text.slice(0, 200)} ${all.faultsLogged().at(-1) ?? ""}`];
}

/** Ask, and finish what was accepted where only so much of it may wait. */
async function ask(entry: Entry, sent: Parameters<Operations["call"]>[1]) {
  const answer = await all.call(entry, { ...all.may(entry), ...sent });
  if (entry.title === "invoices.createExport" && answer.status < 300) await all.floe.runJobs();
  return answer;
}

describe.each(withBody)("$title", (entry) => {
  test("whatever stands anywhere in its body, the answer is a documented one, and a refused request changed nothing", async () => {
    const places = placesOf(entry.op.body as never);
    const body = fc.oneof(
      fc.constant(undefined),
      bodyValue(entry.op.body as never).map((made) => (typeof made === "object" ? made : undefined)),
    );
    const value = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...badValues, ...badRaw) },
      { weight: 1, arbitrary: fc.jsonValue() },
    );
    const changes = fc.array(fc.tuple(fc.constantFrom(...places), value), { maxLength: 2 });
    let events = await all.eventCount();
    await fc.assert(
      fc.asyncProperty(body, changes, async (made, put) => {
        const base = made ?? all.sampleOf(entry);
        const text = withRaw(put.reduce<unknown>((whole, [place, inner]) => withValue(whole, place, inner), base));
        const answer = await ask(entry, { body: text });
        expect(unfair(entry, text, answer)).toEqual([]);
        const now = await all.eventCount();
        if (answer.status === 422) expect(now).toBe(events);
        events = now;
      }),
      { numRuns: runsPerBody, seed },
    );
    expect(all.faultsLogged()).toEqual([]);
  });

  test("bytes that are hardly JSON, and types that are not, are answered in a documented way", async () => {
    const faults: string[] = [];
    for (const body of rawBodies) faults.push(...unfair(entry, body, await ask(entry, { body })));
    const body = JSON.stringify(all.sampleOf(entry));
    for (const type of rawTypes) {
      const answer = await ask(entry, { body, headers: { "content-type": type } });
      faults.push(...unfair(entry, type, answer));
    }
    expect([faults, all.faultsLogged()]).toEqual([[], []]);
  });
});

test.each(withParams)("$title with any text in its path is answered in a documented way", async (entry) => {
  const faults: string[] = [];
  const names = Object.keys(entry.op.params?.shape ?? {});
  const path = formatUrl(entry.op.path, { params: Object.fromEntries(names.map((name) => [name, "HERE"])) });
  for (const text of ["%00", "%ED%A0%80", "%FF", "%", "..%2F..", "%27", "__proto__", "null", "0", "x".repeat(5000)]) {
    const body = all.sampleOf(entry);
    const { as } = all.may(entry);
    const answer = await all.floe.request(entry.op.method, path.replaceAll("HERE", text), {
      ...(as === undefined ? {} : { token: as }),
      ...(body === undefined ? {} : { body }),
    });
    // There is nothing of that name, or it is no name at all.
    faults.push(...unfair(entry, text, answer, [404, 414, 422]));
  }
  expect([faults, all.faultsLogged()]).toEqual([[], []]);
});

test("a NUL in a query is told with its place, whatever else is asked; in a path it names nothing", async () => {
  const ask = async (path: string) => {
    const { status, json } = await all.floe.request("GET", path, { token: all.seller.key });
    const { detail } = json as { detail: unknown };
    return [status, Array.isArray(detail) ? detail.map(({ loc }) => loc) : []];
  };
  expect(await ask("/v1/products/?page=1&query=a%00b&%00=1")).toEqual([
    422,
    [
      ["query", "query"],
      ["query", "\0"],
    ],
  ]);
  expect(await ask("/v1/products/?query=%2500")).toEqual([200, []]);
  expect(await ask("/v1/products/%00?query=%00")).toEqual([404, []]);
});

const filters = "metadata" as const;
test.each(operations.filter(({ op }) => op.query))("$title with any text in its query is 200 or 422", async (entry) => {
  const faults: string[] = [];
  // One that takes away is asked about something that is not there.
  const params = entry.op.method === "GET" ? all.paramsOf(entry) : all.unknownParams(entry);
  const ask = async (query: Record<string, unknown>): Promise<void> => {
    const answer = await all.call(entry, { ...all.may(entry), params, query });
    faults.push(...unfair(entry, JSON.stringify(query), answer));
  };
  const keys = [...Object.keys(entry.op.query?.shape ?? {}), `${filters}[key]`];
  // Most keys are those of every list: each operation takes another quarter of the texts for each of them.
  const turn = operations.indexOf(entry);
  for (const [at, key] of keys.entries())
    for (const [index, value] of badTexts.entries()) {
      if ((turn + at + index) % 4 > 0) continue;
      await ask({ [key]: value });
      if (index % 3 === 0) await ask({ [key]: [value, badTexts[(index + 5) % badTexts.length]] });
    }
  for (const key of [
    "",
    "[]",
    "[a][b]",
    "[a",
    "[__proto__]",
    "[constructor]",
    `[${"k".repeat(300)}]`,
    `["'\\]`,
    "[a.b]",
  ])
    await ask({ [`${filters}${key}`]: "x" });
  await ask(Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${filters}[${index}]`, "x"])));
  await ask({ __proto__: "x", constructor: "x", "a[b][c]": "x", [`a${"[b]".repeat(500)}`]: "x" });
  expect([faults, all.faultsLogged()]).toEqual([[], []]);
});
