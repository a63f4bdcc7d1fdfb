import { eq } from "drizzle-orm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { auditLog } from "../../server/platform/db/tables.ts";
import { type Catalogue, type Someone, startCatalogue, unique } from "../support/catalogue.ts";
import { startOpenId } from "../support/oauth-stand-in.ts";

const declared = {
  company: { type: "string", required: true },
  country: { type: "string", required: true, default: "FR", label: "Where you are" },
  seats: { type: "number" },
  isAgent: { type: "boolean", default: false },
  plan: { type: "string", input: false, default: "basic" },
  credit: { type: "number", input: false },
};
const usual = { country: "FR", seats: null, isAgent: false, plan: "basic", credit: null };
const longest = "ö".repeat(100);

let floe: Catalogue;
let acme: Awaited<ReturnType<typeof startOpenId>>;
beforeAll(async () => {
  // The service tells of fields that are called as ours are.
  const told = { company: 7, country: "US", plan: "gold" };
  acme = await startOpenId({ sub: "1", email: "social@example.com", email_verified: true, name: "Ada", ...told });
  // As many as there may be.
  const more = Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`more${n}`, { type: "string" }]));
  floe = await startCatalogue({ ...acme.settings, FLOE_USER_FIELDS: JSON.stringify({ ...declared, ...more }) });
});
afterAll(async () => {
  await floe.close();
  await acme.stop();
});

const newAccount = (more: Record<string, unknown> = {}) => ({
  name: "Ada",
  email: `ada-${unique()}@example.com`,
  password: `correct horse ${unique()}`,
  company: "Acme",
  ...more,
});
async function signUp(more: Record<string, unknown> = {}) {
  const one = floe.stranger();
  const account = newAccount(more);
  const answer = await one.post("/sign-up/email", account);
  const made = answer.json?.user as Record<string, unknown> | undefined;
  return { ...one, ...account, answer, made, id: String(made?.id) };
}
const me = async (one: Pick<Someone, "get">) => (await one.get("/get-session")).json.user as Record<string, unknown>;
const rowOf = async (id: string) => (await floe.deps.db.select().from(user).where(eq(user.id, id)))[0];

test("are given at sign-up, and answered wherever a user is", async () => {
  const one = await signUp({ seats: 2.5, isAgent: true });
  const wanted = { ...usual, company: "Acme", seats: 2.5, isAgent: true, more0: null };
  expect(one.answer.status).toBe(200);
  expect(one.made).toMatchObject(wanted);
  expect(one.made).not.toHaveProperty("extra");
  expect(await me(one)).toMatchObject(wanted);
  const { json } = await floe.stranger().post("/sign-in/email", { email: one.email, password: one.password });
  expect(json.user).toMatchObject(wanted);
  expect(json.user).not.toHaveProperty("extra");
  expect((await rowOf(one.id))?.extra).toMatchObject({ company: "Acme", plan: "basic", seats: 2.5 });
});

test("are listed for pages that ask for them, but for those that nobody may set", async () => {
  const { status, json } = await floe.stranger().get("/methods");
  expect(status).toBe(200);
  const listed = json.fields as object[];
  const optional = { required: false, default: null };
  expect(listed.slice(0, 5)).toEqual([
    { name: "company", label: "Company", type: "string", required: true, default: null },
    { name: "country", label: "Where you are", type: "string", required: true, default: "FR" },
    { name: "seats", label: "Seats", type: "number", ...optional },
    { name: "isAgent", label: "Is agent", type: "boolean", required: false, default: false },
    { name: "more0", label: "More0", type: "string", ...optional },
  ]);
  expect(listed).toHaveLength(4 + 14);
});

test("are changed one by one, also at the same moment, and emptied with null", async () => {
  const one = await signUp({ seats: 1 });
  const changes = [{ company: "Beta" }, { seats: 3 }, { isAgent: true }, { more1: "x" }, { name: "Bea" }];
  const answers = await Promise.all(changes.map((change) => one.post("/update-user", change)));
  expect(answers.map(({ status }) => status)).toEqual(changes.map(() => 200));
  const wanted = { ...usual, company: "Beta", seats: 3, isAgent: true, more1: "x", name: "Bea" };
  expect(await me(one)).toMatchObject(wanted);
  expect((await one.post("/update-user", { seats: null, more1: null })).status).toBe(200);
  expect(await me(one)).toMatchObject({ ...wanted, seats: null, more1: null });
  // The log says which, and not what they hold.
  const entries = await floe.deps.db.select().from(auditLog).where(eq(auditLog.action, "user.updated"));
  const details = entries.filter(({ subject_id }) => subject_id === one.id).map((entry) => entry.details);
  expect(details).toContainEqual({ fields: ["company"] });
});

test("what must be given is asked for, and what is closed to clients is refused", async () => {
  for (const company of [undefined, null, "", " "])
    expect((await signUp({ company })).answer).toMatchObject({
      status: 400,
      json: { code: "COMPANY_IS_REQUIRED", message: "company is required" },
    });
  const one = await signUp();
  for (const company of [null, ""])
    expect(await one.post("/update-user", { company })).toMatchObject({
      status: 400,
      json: { code: "COMPANY_IS_REQUIRED" },
    });
  for (const [field, value] of [
    ["plan", "gold"],
    ["plan", "basic"],
    ["credit", 0],
    ["credit", null],
  ] as const) {
    const refused = { status: 400, json: { message: `${field} is not allowed to be set` } };
    expect(await one.post("/update-user", { [field]: value })).toMatchObject(refused);
    expect((await signUp({ [field]: value })).answer).toMatchObject(refused);
  }
  expect(await me(one)).toMatchObject({ ...usual, company: "Acme" });
  // Who is signed out is told that, and nothing of fields.
  expect((await floe.stranger().post("/update-user", { company: null })).status).toBe(401);
});

test("hold their type and no more, and what is not declared is left out as before", async () => {
  const one = await signUp();
  const wrong: [string, unknown][] = [
    ["company", 7],
    ["company", { toString: "x" }],
    ["company", ["x"]],
    ["company", "x\0y"],
    ["company", "\ud800"],
    ["company", `${longest}x`],
    ["company", "\u0001".repeat(34)],
    ["seats", "7"],
    ["seats", true],
    ["isAgent", "true"],
    ["isAgent", 1],
  ];
  for (const [field, value] of wrong) {
    const what = JSON.stringify({ [field]: value }).slice(0, 60);
    expect(await one.post("/update-user", { [field]: value }), what).toMatchObject({
      status: 400,
      json: { code: "VALIDATION_ERROR" },
    });
    expect((await signUp({ [field]: value })).answer.status, what).toBe(400);
  }
  const token = String(one.answer.json.token);
  const endless = await floe.request("POST", "/api/auth/update-user", { token, body: '{"seats":1e999}' });
  expect(endless).toMatchObject({ status: 400, json: { detail: "seats must be a number" } });
  const kept = await rowOf(one.id);
  const others = { extra: { plan: "gold" }, unknown: 1, constructor: "x" };
  expect((await one.post("/update-user", { ...others, name: "Bea" })).status).toBe(200);
  expect((await rowOf(one.id))?.extra).toEqual(kept?.extra);
  const made = await signUp(JSON.parse('{"extra":{"plan":"gold"},"__proto__":{"plan":"gold"},"unknown":1}'));
  expect([made.answer.status, made.made?.plan]).toEqual([200, "basic"]);
});

test("all of them at their longest still fit into a browser's requests", async () => {
  const most = Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`more${n}`, longest]));
  const image = `https://example.com/${"i".repeat(1800)}`;
  const one = await signUp({ ...most, company: longest, country: longest });
  expect(one.answer.status).toBe(200);
  expect((await one.post("/update-user", { name: "ö".repeat(255), image })).status).toBe(200);
  // A copy of the session comes with each answer and goes with each request.
  expect((await one.get("/get-session?disableCookieCache=true")).status).toBe(200);
  expect(await me(one)).toMatchObject({ ...most, company: longest, image });
});

test("who comes as a guest or from a service is asked for nothing", async () => {
  const guest = floe.stranger();
  expect((await guest.post("/sign-in/anonymous", {})).status).toBe(200);
  const is = await me(guest);
  expect(is).toMatchObject({ ...usual, company: null, isAnonymous: true });
  // What was the default then stays theirs.
  expect((await rowOf(String(is.id)))?.extra).toEqual({ country: "FR", isAgent: false, plan: "basic" });
  // Nor is who the server makes an account for.
  await floe.seller();
  const social = floe.stranger();
  await social.browser.signIn("acme");
  expect(await me(social)).toMatchObject({ ...usual, company: null, email: "social@example.com" });
  expect((await social.post("/update-user", { company: "Acme" })).status).toBe(200);
  expect(await me(social)).toMatchObject({ company: "Acme" });
});

test("platform admins set those that are closed, of the right type; nobody else does", async () => {
  const [admin, one] = [await signUp(), await signUp()];
  await floe.deps.db.update(user).set({ role: "admin" }).where(eq(user.id, admin.id));
  const set = (who: Pick<Someone, "post">, data: object) => who.post("/admin/update-user", { userId: one.id, data });
  expect((await set(one, { plan: "gold" })).status).toBe(403);
  expect((await set(admin, { plan: 7 })).status).toBe(400);
  expect(await set(admin, { plan: "gold", extra: { credit: 1 } })).toMatchObject({
    status: 200,
    json: { plan: "gold" },
  });
  expect(await me(one)).toMatchObject({ ...usual, company: "Acme", plan: "gold" });
  expect(await set(admin, { name: "Bea", extra: { credit: 1 } })).toMatchObject({
    status: 200,
    json: { credit: null },
  });
  expect(await set(admin, { company: null })).toMatchObject({ status: 200, json: { company: null } });
  const { company: _, ...account } = newAccount();
  const create = (data: object) => admin.post("/admin/create-user", { ...account, data });
  expect((await create({ credit: "1" })).status).toBe(400);
  expect(await create({ credit: 5 })).toMatchObject({
    status: 200,
    json: { user: { ...usual, credit: 5, company: null } },
  });
  const { json } = await admin.get(`/admin/list-users?searchValue=${account.email}`);
  expect(json.users).toMatchObject([{ ...usual, credit: 5 }]);
  // Nobody looks for people by them.
  for (const query of ["filterField=plan&filterValue=gold", "sortBy=plan"])
    expect((await admin.get(`/admin/list-users?${query}`)).status).toBe(200);
});

test("who is older than a field has its default, and what is kept of another type is not shown", async () => {
  const one = await signUp();
  await floe.deps.db
    .update(user)
    .set({ extra: { seats: "many", gone: 1 } })
    .where(eq(user.id, one.id));
  const { json } = await floe.stranger().post("/sign-in/email", { email: one.email, password: one.password });
  expect(json.user).toMatchObject({ ...usual, company: null });
  expect(json.user).not.toHaveProperty("gone");
});
