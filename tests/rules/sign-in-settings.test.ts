import { generateKeyPairSync } from "node:crypto";
import { getTableColumns } from "drizzle-orm";
import { describe, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { ConfigError, readSettings } from "../../server/platform/config.ts";

const read = (env: Record<string, string>) => readSettings({}, env);
const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
const rsa = generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" });
const acme = {
  FLOE_OIDC: "acme",
  OIDC_ACME_ISSUER: "https://login.acme.example",
  OIDC_ACME_CLIENT_ID: "id",
  OIDC_ACME_CLIENT_SECRET: "secret",
};
const apple = { APPLE_CLIENT_ID: "id", APPLE_TEAM_ID: "team", APPLE_KEY_ID: "key", APPLE_PRIVATE_KEY: String(ec) };
const without = (env: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(env).filter(([key]) => key !== name));

test.each<[string, Record<string, string>, string]>([
  ["GitHub's id alone", { GITHUB_CLIENT_ID: "id" }, "GITHUB_CLIENT_ID and GITHUB_CLIENT_SECRET go together"],
  ["Google's secret alone", { GOOGLE_CLIENT_SECRET: "s" }, "GOOGLE_CLIENT_ID and GOOGLE_CLIENT_SECRET go together"],
  [
    "Discord's id with an empty secret",
    { DISCORD_CLIENT_ID: "id", DISCORD_CLIENT_SECRET: "" },
    "DISCORD_CLIENT_ID and",
  ],
  ["Apple's id alone", { APPLE_CLIENT_ID: "id" }, "APPLE_CLIENT_ID needs"],
  ["Apple's key without a team", without(apple, "APPLE_TEAM_ID"), "APPLE_CLIENT_ID needs"],
  ["Apple's key without an id", without(apple, "APPLE_CLIENT_ID"), "APPLE_CLIENT_ID needs"],
  ["Apple's key and a secret", { ...apple, APPLE_CLIENT_SECRET: "s" }, "APPLE_CLIENT_ID needs"],
  [
    "a key that is none",
    { ...apple, APPLE_PRIVATE_KEY: "secret-looking text" },
    "APPLE_PRIVATE_KEY: must be a private key",
  ],
  [
    "a key that Apple does not give",
    { ...apple, APPLE_PRIVATE_KEY: String(rsa) },
    "APPLE_PRIVATE_KEY: must be a private",
  ],
  ["a GitHub app's number alone", { GITHUB_APP_ID: "1" }, "GITHUB_APP_ID and GITHUB_APP_PRIVATE_KEY go together"],
  [
    "a GitHub app without a way to sign in",
    { GITHUB_APP_ID: "1", GITHUB_APP_PRIVATE_KEY: String(rsa) },
    "GITHUB_APP_ID needs",
  ],
  [
    "a GitHub app's key that is none",
    { GITHUB_APP_ID: "1", GITHUB_APP_PRIVATE_KEY: String(ec) },
    "GITHUB_APP_PRIVATE_KEY: must be",
  ],
  ["an OpenID provider without an issuer", without(acme, "OIDC_ACME_ISSUER"), "OIDC_ACME_ISSUER is missing"],
  ["one without a secret", without(acme, "OIDC_ACME_CLIENT_SECRET"), "OIDC_ACME_CLIENT_SECRET is missing"],
  ["one whose issuer is no address", { ...acme, OIDC_ACME_ISSUER: "acme" }, "OIDC_ACME_ISSUER: "],
  ["one named as a service that is built in", { FLOE_OIDC: "github" }, "FLOE_OIDC: github cannot name a provider"],
  ["one with a name for no address", { FLOE_OIDC: "Acme Inc" }, "FLOE_OIDC: Acme Inc cannot name a provider"],
  ["one named twice", { ...acme, FLOE_OIDC: "acme,acme" }, "FLOE_OIDC names a provider twice"],
  ...["30", "0m", "1.5m", "59s", "25h", "-5m", "30 m", "1d", "99999h"].map(
    (text): [string, Record<string, string>, string] => [
      `a life of ${text} for a code`,
      { FLOE_DEVICE_CODE_LASTS: text },
      "FLOE_DEVICE_CODE_LASTS: is a time",
    ],
  ),
  ["an interval that hammers", { FLOE_DEVICE_INTERVAL: "0s" }, "FLOE_DEVICE_INTERVAL: is a time"],
  ["a word for who may sign up that is none", { FLOE_SOCIAL_SIGN_UP: "some" }, "FLOE_SOCIAL_SIGN_UP: "],
])("%s is refused, in a line that names the setting and shows no value", (_what, env, says) => {
  const refused = (): unknown => {
    try {
      return read(env);
    } catch (error) {
      return error;
    }
  };
  const error = refused();
  expect(error).toBeInstanceOf(ConfigError);
  expect(String(error)).toContain(says);
  expect(String(error)).not.toMatch(/secret-looking text|BEGIN PRIVATE/);
});

test("several OpenID providers are read, each by its own name", () => {
  const { openid } = read({
    ...acme,
    FLOE_OIDC: "acme, my-club",
    OIDC_MY_CLUB_ISSUER: "https://club.example/",
    OIDC_MY_CLUB_CLIENT_ID: "club",
    OIDC_MY_CLUB_CLIENT_SECRET: "s",
    OIDC_MY_CLUB_NAME: "My Club",
    OIDC_MY_CLUB_SCOPES: "email groups",
  });
  expect(openid).toEqual([
    {
      id: "acme",
      ISSUER: "https://login.acme.example",
      CLIENT_ID: "id",
      CLIENT_SECRET: "secret",
      NAME: undefined,
      SCOPES: ["openid", "email", "profile"],
    },
    {
      id: "my-club",
      ISSUER: "https://club.example/",
      CLIENT_ID: "club",
      CLIENT_SECRET: "s",
      NAME: "My Club",
      SCOPES: ["openid", "email", "groups"],
    },
  ]);
});

test("the services are at their own addresses, and at others where these are given", () => {
  expect(read({})).toMatchObject({
    GITHUB_URL: "https://github.com",
    GITHUB_API_URL: "https://api.github.com",
    GOOGLE_URL: "https://accounts.google.com",
    DISCORD_URL: "https://discord.com",
    APPLE_URL: "https://appleid.apple.com",
    FLOE_SOCIAL_SIGN_UP: "open",
    FLOE_LINK_DIFFERENT_EMAILS: false,
    FLOE_TRUSTED_PROVIDERS: [],
    openid: [],
  });
  expect(read({ GITHUB_URL: "https://git.example/", FLOE_TRUSTED_PROVIDERS: "acme, github" })).toMatchObject({
    GITHUB_URL: "https://git.example",
    FLOE_TRUSTED_PROVIDERS: ["acme", "github"],
  });
});

test("Apple's key is read with its line ends written out", () => {
  const onOneLine = String(ec).trim().replaceAll("\n", "\\n");
  expect(read({ ...apple, APPLE_PRIVATE_KEY: onOneLine }).APPLE_PRIVATE_KEY?.asymmetricKeyType).toBe("ec");
  expect(read({ APPLE_CLIENT_ID: "id", APPLE_CLIENT_SECRET: "s" }).APPLE_CLIENT_SECRET).toBe("s");
});

describe("fields of users", () => {
  const fields = (declared: unknown) =>
    read({ FLOE_USER_FIELDS: typeof declared === "string" ? declared : JSON.stringify(declared) }).FLOE_USER_FIELDS;
  const text = { type: "string" };

  test("stand as they were declared, open to clients and not required unless it is said", () => {
    expect([read({}).FLOE_USER_FIELDS, fields("")]).toEqual([[], []]);
    expect(fields({ company: text, plan: { type: "string", required: true, input: false, default: "basic" } })).toEqual(
      [
        { name: "company", label: "Company", type: "string", required: false, input: true },
        { name: "plan", label: "Plan", type: "string", required: true, input: false, default: "basic" },
      ],
    );
    const named = fields({
      vatNumber: text,
      is_agent: text,
      companyVAT: text,
      ref: { ...text, label: " Who sent you? " },
    });
    const labels = named.map(({ label }) => label);
    expect(labels).toEqual(["Vat number", "Is agent", "Company VAT", "Who sent you?"]);
  });

  test("never take the name of what users, calls and objects have already", () => {
    const own = [...Object.keys(getTableColumns(user)), "password", "callbackURL", "rememberMe", "data", "session"];
    for (const name of [...own, "Email", "emailverified", "__proto__", "constructor", "toString", "hasOwnProperty"])
      expect(() => fields(`{"${name}":{"type":"string"}}`), name).toThrow(/^Wrong setting. FLOE_USER_FIELDS: .*name/);
  });

  test.each<[string, unknown, string]>([
    ["no JSON", "company", "is not valid JSON"],
    ["a list", [], "must be an object"],
    ["nothing", "null", "must be an object"],
    ["more than 20", Object.fromEntries(Array.from({ length: 21 }, (_, n) => [`f${n}`, text])), "more than 20"],
    ["a name with a space", { "my field": text }, "a name begins"],
    ["a name without end", { ["n".repeat(41)]: text }, "a name begins"],
    ["the same name twice", { vatId: text, vatid: text }, "two fields have this name"],
    ["a label without end", { company: { ...text, label: "l".repeat(101) } }, "company.label"],
    ["a blank label", { company: { ...text, label: " " } }, "company.label"],
    ["no type", { company: {} }, "company.type"],
    ["another type", { company: { type: "date" } }, "company.type"],
    ["a field without a definition", { company: null }, "company:"],
    ["another word", { company: { ...text, requird: true } }, "requird"],
    ["a default of another type", { seats: { type: "number", default: "1" } }, "seats.default must be a number"],
    ["a default that is too long", { company: { ...text, default: "c".repeat(201) } }, "company.default is too long"],
    ["a default with a NUL", { company: { ...text, default: "a\0b" } }, "company.default has characters"],
    ["a default with half a character", { company: { ...text, default: "\ud800" } }, "company.default has characters"],
    ["what nobody can give", { plan: { ...text, required: true, input: false } }, "plan: is required, but nobody"],
  ])("%s is refused at the start", (_, declared, message) => {
    expect(() => fields(declared)).toThrow(ConfigError);
    expect(() => fields(declared)).toThrow(message);
  });
});
