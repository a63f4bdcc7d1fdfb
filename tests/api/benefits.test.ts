import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { benefits } from "../../server/catalog/benefits/tables.ts";
import { account } from "../../server/identity/accounts/tables.ts";
import { type Accounts, startAccounts } from "../support/accounts.ts";
import { callsOf } from "../support/calls.ts";
import type { Seller } from "../support/floe.ts";
import { newId } from "../support/ids.ts";
import { bot, startServices } from "../support/oauth-stand-in.ts";

let services: Awaited<ReturnType<typeof startServices>>;
let floe: Accounts;
let seller: Seller;
let call: ReturnType<typeof callsOf>;
beforeAll(async () => {
  services = await startServices();
  floe = await startAccounts({ ...services.settings, ...services.app, DISCORD_BOT_TOKEN: bot.token });
  seller = await floe.seller("ada");
  call = callsOf(floe, seller);
});
afterAll(async () => {
  await floe?.close();
  await services?.stop();
});

const path = "/v1/benefits/";
const custom = (over: object = {}) => ({ type: "custom", description: "A note", properties: {}, ...over });
const made = async (body: object): Promise<string> => {
  const { status, json } = await call.send("POST", path, body);
  expect([status, json.detail]).toEqual([201, undefined]);
  return json.id;
};
const keys = (properties: object) => ({ type: "license_keys", description: "A key", properties });

test.each<[string, object, string[]]>([
  ["BEN-01: two characters are too few", custom({ description: "ab" }), ["description"]],
  ["BEN-01: 43 are too many", custom({ description: "x".repeat(43) }), ["description"]],
  ["BEN-01: an unknown type", custom({ type: "hat" }), ["type"]],
  ["BEN-01: faults of properties stand under them", custom({ properties: { note: 5 } }), ["properties.note"]],
  [
    "BEN-30: no activation",
    keys({ activations: { limit: 0, enable_customer_admin: true } }),
    ["properties.activations.limit"],
  ],
  ["BEN-30: no use", keys({ limit_usage: 0 }), ["properties.limit_usage"]],
  ["BEN-30: 0 days", keys({ expires: { ttl: 0, timeframe: "day" } }), ["properties.expires.ttl"]],
  ["BEN-30: 36501 days", keys({ expires: { ttl: 36_501, timeframe: "day" } }), ["properties.expires.ttl"]],
  ["BEN-30: 1201 months", keys({ expires: { ttl: 1201, timeframe: "month" } }), ["properties.expires.ttl"]],
  ["BEN-30: 458 years", keys({ expires: { ttl: 458, timeframe: "year" } }), ["properties.expires.ttl"]],
  ["BEN-30: weeks", keys({ expires: { ttl: 1, timeframe: "week" } }), ["properties.expires.timeframe"]],
  ["BEN-20: no file", { type: "downloadables", description: "Files", properties: { files: [] } }, ["properties.files"]],
  [
    "BEN-20: an unknown file",
    { type: "downloadables", description: "Files", properties: { files: [newId()] } },
    ["properties.files.0"],
  ],
  [
    "BEN-50: an unknown meter",
    { type: "meter_credit", description: "Credit", properties: { meter_id: newId(), units: 1 } },
    ["properties.meter_id"],
  ],
  [
    "BEN-50: no units",
    { type: "meter_credit", description: "Credit", properties: { meter_id: newId(), units: 0 } },
    ["properties.units"],
  ],
  [
    "BEN-50: more than fit",
    { type: "meter_credit", description: "Credit", properties: { meter_id: newId(), units: 2_147_483_648 } },
    ["properties.units"],
  ],
])("%s is refused at its place", async (_, body, places) => {
  expect((await call.refused("POST", path, body)).map((one) => one.split(" ")[0])).toEqual(places);
});

test("BEN-30: what is left out of a key's properties is none, and blanks of a prefix too", async () => {
  const id = await made(keys({ prefix: "  ", expires: { ttl: 457, timeframe: "year" } }));
  const properties = { prefix: null, expires: { ttl: 457, timeframe: "year" }, activations: null, limit_usage: null };
  expect((await call.send("GET", `${path}${id}`)).json.properties).toEqual(properties);
});

test("BEN-01, BEN-03: the type stays, properties are replaced as a whole, and each step is told", async () => {
  const before = [await call.told("benefit.created"), await call.told("benefit.updated")];
  const id = await made(keys({ prefix: "BOOK", limit_usage: 3 }));
  expect(await call.refused("PATCH", `${path}${id}`, { type: "custom", description: "Other" })).toEqual([
    "type value_error",
  ]);
  expect(await call.refused("PATCH", `${path}${id}`, { properties: { limit_usage: -1 } })).toEqual([
    "properties.limit_usage greater_than_equal",
  ]);
  const { json } = await call.send("PATCH", `${path}${id}`, { type: "license_keys", properties: { limit_usage: 4 } });
  expect(json).toMatchObject({ description: "A key", properties: { prefix: null, limit_usage: 4 } });
  expect([await call.told("benefit.created"), await call.told("benefit.updated")]).toEqual([
    (before[0] ?? 0) + 1,
    (before[1] ?? 0) + 1,
  ]);
});

test("BEN-03: a feature flag is its metadata; who does not know the kind reads a note without text", async () => {
  const metadata = { max_projects: 10, beta: true };
  const id = await made({ type: "feature_flag", description: "Ten projects", properties: {}, metadata });
  const body = { name: "Pro", prices: [{ amount_type: "fixed" as const, price_amount: 900 }] };
  const { id: product } = await seller.client.products.create({ body });
  expect((await call.send("POST", `/v1/products/${product}/benefits`, { benefits: [id] })).status).toBe(200);
  const { client_secret } = await seller.client.checkouts.create({ body: { products: [product] } });
  const changed = await call.send("PATCH", `${path}${id}`, { visibility: "private", metadata: { max_projects: 20 } });
  expect(changed.status).toBe(200);
  const seenBy = async (headers: Record<string, string>) => {
    const read = async (address: string) =>
      (await floe.request("GET", address, { token: seller.key, headers })).json as Record<string, unknown>;
    const one = await read(`${path}${id}`);
    const [listed] = (await read(`${path}?id=${id}`)).items as object[];
    expect(listed).toEqual(one);
    const [sold] = (await read(`/v1/products/${product}`)).benefits as object[];
    expect(sold).toEqual(one);
    const shop = (await read(`/v1/checkouts/client/${client_secret}`)).product as { benefits: { type: string }[] };
    expect(shop.benefits.map(({ type }) => type)).toEqual([one.type]);
    return one;
  };
  const flag = { type: "feature_flag", properties: {}, visibility: "private", visibility_configurable: true };
  const sdk = (release: string) => ({ "user-agent": `speakeasy-sdk/typescript ${release} 2 3 @polar-sh/sdk` });
  for (const headers of [{ "polar-version": "2026-04" }, sdk("0.49.0"), sdk("0.45.2")])
    expect(await seenBy(headers)).toMatchObject({ ...flag, metadata: { max_projects: 20 } });
  for (const headers of [{}, sdk("0.44.0"), sdk("0.38.1")])
    expect(await seenBy(headers)).toMatchObject({ type: "custom", properties: { note: null } });
  expect(await call.ids(`${path}?type=feature_flag`)).toEqual([id]);
});

test("BEN-30: buyers see how far a key reaches, and neither its prefix nor which files there are", async () => {
  const id = await made(
    keys({
      prefix: "SECRET",
      expires: { ttl: 1, timeframe: "year" },
      activations: { limit: 3, enable_customer_admin: true },
    }),
  );
  const body = { name: "App", prices: [{ amount_type: "fixed" as const, price_amount: 900 }] };
  const { id: product } = await seller.client.products.create({ body });
  await call.send("POST", `/v1/products/${product}/benefits`, { benefits: [id, await made(custom())] });
  const { client_secret } = await seller.client.checkouts.create({ body: { products: [product] } });
  const { json } = await floe.request("GET", `/v1/checkouts/client/${client_secret}`);
  const [key, note] = (json as { product: { benefits: object[] } }).product.benefits;
  const expires = { ttl: 1, timeframe: "year" };
  expect(key).toMatchObject({ terms: { activations: 3, expires, limit_usage: null, files: null } });
  expect(key).not.toHaveProperty("properties");
  expect(JSON.stringify(json)).not.toContain("SECRET");
  expect(note).toMatchObject({ type: "custom", terms: null });
});

test("BEN-03: a shared channel is read as published, and refused while nothing here can open one", async () => {
  const properties = { slack_integration_id: newId(), channel_name_template: "{customer_name}" };
  const channel = { type: "slack_shared_channel", description: "A channel" };
  expect(await call.refused("POST", path, { ...channel, properties })).toEqual([
    "properties.slack_integration_id not_available",
  ]);
  expect(await call.refused("POST", path, { ...channel, properties: {} })).toEqual([
    "properties.slack_integration_id missing",
    "properties.channel_name_template missing",
  ]);
  expect(await call.ids(`${path}?type=slack_shared_channel`)).toEqual([]);
});

test("BEN-02, BEN-04, PRD-32: a deleted benefit is off every product and found by nothing; the system's own stay", async () => {
  const id = await made(custom());
  const kept = await made(custom({ description: "Kept" }));
  const { id: product } = await seller.client.products.create({
    body: { name: "Book", prices: [{ amount_type: "fixed", price_amount: 900 }] },
  });
  const set = (list: string[]) => call.send("POST", `/v1/products/${product}/benefits`, { benefits: list });
  const given = async () =>
    (await seller.client.products.get({ params: { id: product } })).benefits.map((one) => one.id);
  await set([kept, id.toUpperCase()]);
  expect(await given()).toEqual([kept, id]);
  await set([id, kept]);
  expect(await given()).toEqual([id, kept]);
  const theirs = await (await floe.seller("bob")).client.benefits.create({ body: custom() as never });
  for (const unknown of [newId(), theirs.id, kept.toUpperCase()])
    expect((await set([kept, unknown])).json.detail).toMatchObject([{ loc: ["body", "benefits", 1] }]);
  const own = await floe.deps.db
    .update(benefits)
    .set({ selectable: false, deletable: false })
    .where(eq(benefits.id, kept))
    .returning();
  expect(own).toHaveLength(1);
  expect((await set([id])).json.detail).toMatchObject([{ msg: "Benefit is not selectable." }]);
  expect((await set([kept, id])).status).toBe(200);
  expect(await call.send("DELETE", `${path}${kept}`)).toMatchObject({ status: 403, json: { error: "NotPermitted" } });
  const told = await call.told("benefit.updated");
  expect((await call.send("DELETE", `${path}${id}`)).status).toBe(204);
  expect(await call.told("benefit.updated")).toBe(told + 1);
  expect(await given()).toEqual([kept]);
  const answers = [
    await call.send("GET", `${path}${id}`),
    await call.send("PATCH", `${path}${id}`, {}),
    await call.send("DELETE", `${path}${id}`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  expect((await set([kept, id])).json.detail).toMatchObject([{ loc: ["body", "benefits", 1] }]);
});

test("BEN-05: a list has each filter and sort, in one statement for the page and one for the count", async () => {
  const own = await floe.seller("lists");
  const { send, ids } = callsOf(floe, own);
  const add = async (body: object) => (await send("POST", path, body)).json.id;
  const a = await add(custom({ description: "Zebra", metadata: { n: "1" } }));
  const b = await add({ ...keys({}), description: "Yak" });
  const c = await add(custom({ description: "Xerus" }));
  expect(await ids(path)).toEqual([c, b, a]);
  const sorted: [string, string[]][] = [
    ["created_at", [a, b, c]],
    ["user_order", [a, b, c]],
    ["description", [c, b, a]],
    ["-type&sorting=created_at", [b, a, c]],
  ];
  for (const [sorting, wanted] of sorted)
    expect([sorting, await ids(`${path}?sorting=${sorting}`)]).toEqual([sorting, wanted]);
  expect(await ids(`${path}?type=license_keys`)).toEqual([b]);
  expect(await ids(`${path}?type=license_keys&type=custom&limit=1&page=3`)).toEqual([a]);
  expect(await ids(`${path}?id=${a}&id=${c}`)).toEqual([c, a]);
  expect(await ids(`${path}?exclude_id=${a}`)).toEqual([c, b]);
  expect(await ids(`${path}?query=zEB`)).toEqual([a]);
  expect(await ids(`${path}?metadata[n]=1`)).toEqual([a]);
  expect(await ids(`${path}?organization_id=${seller.organization_id}`)).toEqual([]);
  expect((await call.send("GET", `${path}${a}`)).status).toBe(404);
  floe.queries.length = 0;
  await ids(path);
  expect(floe.queries.filter((query) => query.includes('"benefits"'))).toHaveLength(2);
});

describe("BEN-60: Discord", () => {
  const begin = "/v1/integrations/discord/bot/authorize";
  const as = (cookie: string, target: string) => floe.request("GET", target, { cookie });
  /** To Discord and back, as a browser goes. */
  const back = async (cookie: string): Promise<string> => {
    const sent = await as(cookie, begin);
    expect(sent.status).toBe(302);
    const discord = await fetch(sent.headers.get("location") ?? "", { redirect: "manual" });
    const target = new URL(discord.headers.get("location") ?? "");
    return target.pathname + target.search;
  };
  const tokenFor = async (who: Seller): Promise<string> => {
    const cookie = await floe.browser(who);
    const { text } = await as(cookie, await back(cookie));
    return /<code>([\w-]{40,})<\/code>/.exec(text)?.[1] ?? "";
  };
  const discord = (guild_token: string, over: object = {}) => ({
    type: "discord",
    description: "A role",
    properties: { guild_token, role_id: "10", kick_member: true, ...over },
  });

  test("who lets the bot in gets a token, a benefit is made with it, and answers with guild and token", async () => {
    const cookie = await floe.browser(seller);
    const invitation = new URL((await as(cookie, begin)).headers.get("location") ?? "");
    expect(Object.fromEntries(invitation.searchParams)).toMatchObject({
      scope: "identify bot",
      permissions: "268435458",
    });
    const page = await as(cookie, await back(cookie));
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(page.text).toContain("Testers &#38; &#60;friends&#62;");
    const guild_token = await tokenFor(seller);
    const id = await made(discord(guild_token));
    const { properties } = (await call.send("GET", `${path}${id}`)).json;
    expect(properties).toMatchObject({ guild_id: services.state.guild.id, role_id: "10", kick_member: true });
    expect(properties.guild_token).not.toBe(guild_token);
    // The token of the answer is as good as the first.
    const changed = await call.send("PATCH", `${path}${id}`, {
      properties: { guild_token: properties.guild_token, role_id: "1" },
    });
    expect(changed.json.properties).toMatchObject({
      guild_id: services.state.guild.id,
      role_id: "1",
      kick_member: false,
    });
    expect(await call.refused("PATCH", `${path}${id}`, { properties: { guild_token, role_id: "30" } })).toEqual([
      "properties.role_id invalid_role_position",
    ]);
    expect(await call.ids(path)).toContain(id);
  });

  test("a role that is not there, or not below the bot's, and a guild without the bot are refused", async () => {
    const token = await tokenFor(seller);
    expect(await call.refused("POST", path, discord(token, { role_id: "77" }))).toEqual([
      "properties.role_id invalid_role",
    ]);
    for (const role_id of ["20", "30"])
      expect(await call.refused("POST", path, discord(token, { role_id }))).toEqual([
        "properties.role_id invalid_role_position",
      ]);
    services.state.guild.present = false;
    expect(await call.refused("POST", path, discord(token))).toEqual(["properties.guild_token value_error"]);
    services.state.guild.present = true;
  });

  test("no other text is a token, nor one of another organization or with a letter changed", async () => {
    const foreign = await tokenFor(await floe.seller("bob"));
    const own = await tokenFor(seller);
    const changed = `${own.slice(0, 30)}${own[30] === "A" ? "B" : "A"}${own.slice(31)}`;
    services.state.bot_calls.length = 0;
    for (const token of ["x", services.state.guild.id, foreign, changed])
      expect(await call.refused("POST", path, discord(token))).toEqual(["properties.guild_token value_error"]);
    // Discord is not even asked.
    expect(services.state.bot_calls).toEqual([]);
  });

  test("only a signed-in person with the right begins, and only they come back, in time and to the end", async () => {
    expect((await floe.request("GET", begin)).status).toBe(401);
    expect((await floe.request("GET", begin, { token: seller.key })).status).toBe(403);
    const [mine, theirs] = [await floe.browser(seller), await floe.browser(await floe.seller("eve"))];
    const way = await back(mine);
    expect((await as(theirs, way)).status).toBe(403);
    expect((await as("", way)).status).toBe(403);
    expect((await as(mine, way.replace(/state=[^&]{9}/, "state=AAAAAAAAA"))).status).toBe(403);
    expect((await as(mine, way)).status).toBe(200);
    // A code is good once.
    expect((await as(mine, way)).status).toBe(403);
    services.state.refuse = "access_denied";
    const refused = await as(mine, await back(mine));
    services.state.refuse = undefined;
    expect([refused.status, refused.text.includes("<code>")]).toEqual([200, false]);
  });

  test("without a bot the server says which setting is missing", async () => {
    const bare = await startAccounts(services.settings);
    try {
      const who = await bare.seller("cy");
      const { json } = await callsOf(bare, who).send("POST", path, discord("x"));
      expect(json.detail).toMatchObject([
        { loc: ["body", "properties", "guild_token"], msg: expect.stringContaining("DISCORD_BOT_TOKEN") },
      ]);
      expect((await bare.request("GET", begin, { cookie: await bare.browser(who) })).text).toContain(
        "DISCORD_BOT_TOKEN",
      );
    } finally {
      await bare.close();
    }
  });
});

describe("BEN-70: GitHub", () => {
  const body = (over: object = {}) => ({
    type: "github_repository",
    description: "The source",
    properties: { repository_owner: "floe", repository_name: "book", permission: "pull", ...over },
  });
  /** A person says for which organization. */
  const at = ({ organization_id }: Seller) => ({ organization_id });
  const refused = (over?: object, token = seller.session) =>
    call.refused("POST", path, { ...body(over), ...at(seller) }, token);
  const link = (userId: string, accountId: string) =>
    floe.deps.db.insert(account).values({
      id: newId(),
      accountId,
      providerId: "github",
      userId,
      createdAt: new Date(),
      updatedAt: new Date(),
    });

  test("it is made by a person with an account at GitHub, never with an organization's key; nobody else is asked for", async () => {
    expect(await refused({}, seller.key)).toEqual(["properties.repository_owner invalid_auth_subject"]);
    expect(await refused()).toEqual(["properties.repository_owner invalid_user_auth"]);
    expect(services.state.app_calls).toEqual([]);
    await link(seller.user_id, String(services.state.github.id));
    const { status, json } = await call.send("POST", path, { ...body(), ...at(seller) }, seller.session);
    expect([status, json.properties]).toEqual([201, body().properties]);
    // What does not touch the repository is the key's to change, and the same properties again are no change.
    const same = { description: "Sources", properties: body().properties };
    services.state.app_calls.length = 0;
    expect((await call.send("PATCH", `${path}${json.id}`, same)).status).toBe(200);
    expect(services.state.app_calls).toEqual([]);
    const properties = { ...body().properties, permission: "push" };
    expect(await call.refused("PATCH", `${path}${json.id}`, { properties })).toEqual([
      "properties.repository_owner invalid_auth_subject",
    ]);
    const changed = await call.send("PATCH", `${path}${json.id}`, { properties }, seller.session);
    expect([changed.status, changed.json.properties]).toEqual([200, properties]);
    expect(services.state.app_calls).toHaveLength(1);
  });

  test("the app is on the repository, which is an organization's, and the person administers it", async () => {
    const { repository } = services.state;
    const had = { ...repository };
    const faults: [object, string][] = [
      [{ installed: false }, "properties.repository_name no_repository_installation_found"],
      [{ target_type: "User" }, "properties.repository_owner personal_organization_repository"],
      [{ permission: "write" }, "properties.repository_name no_repository_acccess"],
    ];
    for (const [over, wanted] of faults) {
      Object.assign(repository, had, over);
      expect(await refused()).toEqual([wanted]);
    }
    Object.assign(repository, had);
    expect(await refused({ repository_name: "other" })).toEqual([
      "properties.repository_name no_repository_installation_found",
    ]);
    // Another's account is not theirs to speak with.
    const eve = await floe.seller("eve");
    await link(eve.user_id, "999");
    expect(await callsOf(floe, eve).refused("POST", path, { ...body(), ...at(eve) }, eve.session)).toEqual([
      "properties.repository_name no_repository_acccess",
    ]);
    // A file of the catalogue is no way around.
    const document = { version: 1, catalog: "eve", benefits: { source: body() } };
    const applied = await callsOf(floe, eve).refused(
      "POST",
      "/v1/catalog/apply",
      { document, ...at(eve) },
      eve.session,
    );
    expect(applied).toEqual(["document.benefits.source.properties.repository_name no_repository_acccess"]);
  });

  test("without an app the server says which setting is missing; a GitHub that is away is no fault of the seller", async () => {
    const bare = await startAccounts(services.settings);
    const away = await startAccounts({ ...services.settings, ...services.app, GITHUB_API_URL: "http://127.0.0.1:9" });
    try {
      const said = await callsOf(bare, await bare.seller("cy")).send("POST", path, body());
      expect(said.json.detail).toMatchObject([{ msg: expect.stringContaining("GITHUB_APP_ID") }]);
      const who = await away.seller("di");
      const now = new Date();
      await away.deps.db.insert(account).values({
        id: newId(),
        accountId: "1",
        providerId: "github",
        userId: who.user_id,
        createdAt: now,
        updatedAt: now,
      });
      expect(await callsOf(away, who).send("POST", path, { ...body(), ...at(who) }, who.session)).toMatchObject({
        status: 503,
        json: { error: "ServiceUnavailable", detail: "GitHub does not answer. Try again in a moment." },
      });
    } finally {
      await bare.close();
      await away.close();
    }
  });
});
