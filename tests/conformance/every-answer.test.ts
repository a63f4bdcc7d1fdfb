/**
 * Everything that the contract allows is read by the published clients, each with its own schemas: every word of an enum, null
 * wherever it may stand, every member of a union, every event. The values are made from the contract; nothing is served.
 */
import { execFileSync } from "node:child_process";
import { webhooks as webhooks1 } from "@polar-sh/sdk/2026-10";
import { validateEvent as validate38 } from "polar-sdk-0.38/webhooks.js";
import { validateEvent as validate49 } from "polar-sdk-0.49/webhooks.js";
import { Webhook } from "standardwebhooks";
import { describe, expect, test } from "vitest";
import type { z } from "zod";
import { buildHeaders, supportsEvent, writeRawBody } from "../../server/messaging/webhooks/rules.ts";
import { adapt, type ClientProfile, getVersionedProfile, readProfile } from "../../server/platform/http/profiles.ts";
import { api } from "../../shared/api/index.ts";
import type { Operation } from "../../shared/contract.ts";
import { type EventType, eventTypesOf, payloads } from "../../shared/events.ts";
import { buildSystemEvent, firstNames, type SystemEvent } from "../../shared/system-events.ts";
import { listValues } from "../support/every-value.ts";
import { formatRoute, readAnswerSchemas } from "../support/published-clients.ts";
import { wireSchema } from "../support/samples.ts";

type Fields = Record<string, unknown>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const readNamed = (version: string): ClientProfile => {
  const profile = readProfile({ "user-agent": `speakeasy-sdk/typescript ${version} 2.727.9 0.1.0 @polar-sh/sdk` });
  if (!profile) throw new Error(`No profile for ${version}`);
  return profile;
};
const clients = [
  { name: "0.38.1", alias: "polar-sdk-0.38", profile: readNamed("0.38.1"), validate: validate38 },
  { name: "0.49.0", alias: "polar-sdk-0.49", profile: readNamed("0.49.0"), validate: validate49 },
] as const;

/** What a grant left behind, by the type of its benefit. */
const leftBehind: Record<string, Fields> = {
  discord: { account_id: "1", guild_id: "2", role_id: "3", granted_account_id: "1" },
  github_repository: { account_id: "1", repository_owner: "o", repository_name: "r", permission: "pull" },
  downloadables: { files: ["0197a1f0-4b1c-4c3e-8a11-5d1f6b0c9e21"] },
  license_keys: { license_key_id: "0197a1f0-4b1c-4c3e-8a11-5d1f6b0c9e21", display_key: "****-1" },
  meter_credit: {
    last_credited_meter_id: "0197a1f0-4b1c-4c3e-8a11-5d1f6b0c9e21",
    last_credited_units: 10,
    last_credited_at: "2026-01-01T00:00:00Z",
  },
};
/** Parts that belong together, put together: the shapes of the contract are wider than what the server makes. */
function alignParts(value: unknown, isEven = true): unknown {
  if (Array.isArray(value)) return value.map((item, index) => alignParts(item, index % 2 === 0));
  if (!isFields(value)) return value;
  const made = Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, alignParts(inner, isEven)]));
  // Only a team has no address.
  if (made.type === "individual" && made.email === null) made.email = "ada@example.com";
  if ("granted_at" in made && isFields(made.benefit)) {
    const full = leftBehind[String(made.benefit.type)] ?? {};
    made.properties = isEven ? full : {};
    if ("previous_properties" in made) made.previous_properties = isEven ? null : full;
  }
  return made;
}

const listAligned = (schema: z.ZodType): unknown[] =>
  listValues(wireSchema(schema)).map((value, index) => alignParts(value, index % 2 === 0));
const samples = new Map<z.ZodType, unknown[]>();
function listSamples(schema: z.ZodType): unknown[] {
  const known = samples.get(schema) ?? listAligned(schema);
  samples.set(schema, known);
  return known;
}

/** What floe notes in the list of events, for everything that it tells. */
const systemEvents: SystemEvent[] = Object.entries(payloads).flatMap(([type, schema]) =>
  listSamples(schema).flatMap((data) => {
    // Known to whoever tells of it.
    const dates = { past_due_at: "2026-01-01T00:00:00Z", paused_at: "2026-01-01T00:00:00Z" };
    return buildSystemEvent(type as keyof typeof payloads, { ...(data as object), ...dates } as never) ?? [];
  }),
);
const address = { line1: "1 Street", line2: null, postal_code: null, city: null, state: null, country: "FR" };
systemEvents.push({
  name: "customer.updated",
  customer_id: null,
  metadata: {
    ...{ customer_id: "c", customer_email: null, customer_name: null, customer_external_id: null },
    updated_fields: { name: null, email: "a@b.co", tax_id: null, billing_address: address, metadata: { rate: 1.5 } },
  },
});
const llm = {
  ...{ vendor: "v", model: "m", prompt: null, response: null },
  ...{ input_tokens: 1, output_tokens: 2, total_tokens: 3 },
};
const ownMetadata: Fields[] = [
  {},
  { text: "a", whole: 1, part: 0.5, flag: true },
  { _cost: { amount: 1.25, currency: "usd" } },
  { _llm: llm, _cost: { amount: 1, currency: "usd" } },
];

/** Events with what they say: what a seller sent, or what floe notes, in place of any words at all. */
function listEvents(schema: z.ZodType, profile: ClientProfile): unknown[] {
  const noted = systemEvents.filter(({ name }) => profile.generation !== "legacy" || firstNames.includes(name));
  return listSamples(schema).flatMap((value, index): Fields[] => {
    const { source, ...event } = value as Fields & { source: string };
    if (source !== "system")
      return ownMetadata.map((metadata) => ({ ...event, source, name: "calls", label: "calls", metadata }));
    const step = Math.max(1, Math.floor(noted.length / 40));
    return noted
      .filter((_, place) => (place + index) % step === 0 || place === noted.length - 1)
      .map(({ name, metadata }) => ({ ...event, source, name, label: name, metadata }));
  });
}

/** What the server sends to this client of what the shape allows: it leaves out event types that the client does not know. */
function selectSent(route: string, values: unknown[], profile: ClientProfile): unknown[] {
  if (!route.includes("/v1/webhooks/")) return values;
  const known = [...eventTypesOf[profile.generation]];
  const [first] = known;
  return values.map((value, index) => {
    const { events, webhook_event, ...rest } = value as Fields;
    return {
      ...rest,
      ...(events === undefined ? {} : { events: known }),
      ...(isFields(webhook_event)
        ? { webhook_event: { ...webhook_event, type: known[index % known.length] ?? first } }
        : {}),
    };
  });
}

type Schemas = ReturnType<typeof readAnswerSchemas>;
type Case = { route: string; op: Operation; item: z.ZodType | undefined };
function* listCases(schemas: Schemas): Generator<Case> {
  const seen = new Set<string>();
  for (const [resource, operations] of Object.entries(api))
    for (const [key, op] of Object.entries(operations) as [string, Operation][]) {
      const route = formatRoute(op.method, op.path);
      if (!schemas.has(route) || !op.response) continue;
      const shape = (op.response as z.ZodObject).shape as Record<string, { element?: z.ZodType }> | undefined;
      const item = shape?.pagination ? shape.items?.element : undefined;
      // Several operations answer with the same thing, and clients read it with the same schema.
      const place = `${resource} ${item ? "list" : "one"} ${JSON.stringify(Object.keys(shape ?? {}))}`;
      if (seen.has(`${place} ${key === "names"}`)) continue;
      seen.add(`${place} ${key === "names"}`);
      yield { route, op, item };
    }
}

const tellIssues = (error: unknown): string[] =>
  ((error as { issues?: { path: unknown[]; message: string }[] }).issues ?? [{ path: [], message: String(error) }]).map(
    ({ path, message }) => `${path.filter((part) => typeof part !== "number").join(".")}: ${message}`,
  );

describe.each(clients)("$name", ({ alias, profile, validate }) => {
  test("reads every answer, lists included", () => {
    const schemas = readAnswerSchemas(alias);
    const faults = new Set<string>();
    let count = 0;
    for (const { route, op, item } of listCases(schemas)) {
      const { reader, isWrapped } = schemas.get(route) as NonNullable<ReturnType<Schemas["get"]>>;
      const schema = (item ?? op.response) as z.ZodType;
      // Only whoever names metrics gets a part of them; this client names none.
      const isMetrics = route === "GET /v1/metrics";
      const all = route.startsWith("GET /v1/events") && !route.endsWith("/names");
      const values = isMetrics
        ? []
        : selectSent(route, all ? listEvents(schema, profile) : listSamples(schema), profile);
      const pagination = { total_count: values.length, max_page: 1 };
      const isBare = op.bare === true && profile.generation === "legacy";
      const answers = item ? [isBare ? values : { items: values, pagination }] : values;
      for (const answer of answers) {
        const known = adapt(profile, answer);
        const { success, error } = reader.safeParse(isWrapped ? { Result: known } : known);
        count += item ? values.length : 1;
        if (!success) for (const issue of tellIssues(error)) faults.add(`${route} ${issue}`);
      }
    }
    expect([...faults]).toEqual([]);
    expect(count).toBeGreaterThan(1000);
  });

  test("accepts every webhook that it may be sent", () => {
    const faults = new Set<string>();
    for (const [type, schema] of Object.entries(payloads)) {
      if (!supportsEvent(profile, type)) continue;
      for (const data of listSamples(schema)) {
        const { body, headers } = signEvent(profile, type, data);
        try {
          validate(body, headers, secret);
        } catch (error) {
          for (const issue of tellIssues((error as Error).cause ?? error)) faults.add(`${type} ${issue}`);
        }
      }
    }
    expect([...faults]).toEqual([]);
  });
});

const secret = "polar_whs_test";
function signEvent(profile: ClientProfile, type: string, data: unknown) {
  const now = new Date();
  const body = writeRawBody(profile, { type, created_at: now, data });
  return { body, headers: buildHeaders([secret], "evt", Math.floor(now.getTime() / 1000), body) };
}
const current = getVersionedProfile("2026-10");

test("the current client and the standard's own validator accept one webhook of each type, with its version", async () => {
  for (const [type, schema] of Object.entries(payloads)) {
    const { body, headers } = signEvent(current, type, listSamples(schema)[0]);
    const event = await webhooks1.validateEvent(body, headers, secret);
    expect(event).toMatchObject({ type, api_version: "2026-10" });
    expect(new Webhook(Buffer.from(secret).toString("base64")).verify(body, headers)).toMatchObject({ type });
  }
});

/** Reads bodies from the input, one a line; writes the type of each that is refused, and why. */
const program = `
import sys, json
from polar.v2026_10.webhooks import validate_event
for line in sys.stdin:
    sent = json.loads(line)
    try:
        validate_event(sent["body"], sent["headers"], sent["secret"])
    except Exception as error:
        print(sent["type"], repr(error.__cause__ or error)[:300])
`;
const python = process.env.FLOE_TEST_PYTHON ?? "python3";
const hasPythonSdk = (): boolean => {
  try {
    execFileSync(python, ["-c", "import polar.v2026_10.webhooks"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
};

test("the Python client accepts every webhook", ({ skip }) => {
  skip(!hasPythonSdk(), "No Python with polar-sdk. Install it and set FLOE_TEST_PYTHON.");
  const types = Object.keys(payloads) as EventType[];
  // It reads slowly: a few of each type, spread over all that there are.
  const lines = types.flatMap((type) => {
    const all = listSamples(payloads[type as keyof typeof payloads]);
    const some = all.filter((_, index) => index % Math.ceil(all.length / 5) === 0);
    return some.map((data) => JSON.stringify({ type, secret, ...signEvent(current, type, data) }));
  });
  const output = execFileSync(python, ["-c", program], { timeout: 120_000, input: lines.join("\n"), encoding: "utf8" });
  // Its own fault: it cannot read a state with a subscription, of Polar's either.
  const refused = new Set(output.split("\n").filter((line) => line && !line.startsWith("customer.state_changed ")));
  expect([...refused]).toEqual([]);
});
