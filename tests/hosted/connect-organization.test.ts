import { eq } from "drizzle-orm";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { createLinkedOrganization } from "../../server/hosted/connection/create-organization.ts";
import { member } from "../../server/identity/accounts/tables.ts";
import { organization } from "../../server/identity/organizations/tables.ts";
import { floe as runCommand } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";
import { startProxy } from "../support/hosted.ts";
import { createPostgresDatabase } from "../support/postgres-database.ts";

/** `floe polar connect --owner`: the organization of Polar is made where this server has none. */

let polar: Floe;
let proxy: Awaited<ReturnType<typeof startProxy>>;
let floe: Floe;
let databaseUrl: string;
let polarSeller: Awaited<ReturnType<Floe["seller"]>>;
let person: Awaited<ReturnType<Floe["seller"]>>;
const getSettings = () => ({
  ...{ FLOE_BILLING: "polar", POLAR_URL: proxy.url, POLAR_ACCESS_TOKEN: polarSeller.key },
});
beforeAll(async () => {
  databaseUrl = await createPostgresDatabase();
  polar = await start({ listen: true });
  polarSeller = await polar.seller("hosted");
  proxy = await startProxy(polar.url);
  floe = await start({ databaseUrl, listen: true, settings: getSettings() });
  person = await floe.seller("elsewhere");
});
afterAll(async () => {
  await floe.close();
  await proxy.close();
  await polar.close();
});
beforeEach(() => {
  const more = {
    DATABASE_URL: databaseUrl,
    FLOE_URL: floe.url,
    FLOE_SECRET: "a secret for tests, long enough to be one",
  };
  for (const [name, value] of Object.entries({ ...getSettings(), ...more })) vi.stubEnv(name, value);
  return () => vi.unstubAllEnvs();
});

const connect = (...more: string[]) => runCommand(["polar", "connect", "--json", ...more]);
const find = async () =>
  (await floe.deps.db.select().from(organization).where(eq(organization.id, polarSeller.organization_id)))[0];

test("without an owner the command names both ways, and an unknown owner or a taken slug makes nothing", async () => {
  const expectFault = async (text: string, ...more: string[]) => {
    const { code, err } = await connect(...more);
    expect([code, err]).toEqual([1, expect.stringContaining(text)]);
    expect(await find()).toBeUndefined();
  };
  await expectFault("--owner EMAIL");
  await expectFault("There is no user nobody@example.com", "--owner", "nobody@example.com");
  const { slug } = await polarSeller.client.organizations.get({ params: { id: polarSeller.organization_id } });
  const rename = (to: string) =>
    floe.deps.db.update(organization).set({ slug: to }).where(eq(organization.id, person.organization_id));
  await rename(slug);
  await expectFault(`--organization ${slug}`, "--owner", person.email);
  await rename("elsewhere-again");
});

test("the organization is made once with Polar's id, name and slug, belongs to the owner, and is linked", async () => {
  const { hosted, deps } = floe;
  if (!hosted) throw new Error("The server is not in hosted mode.");
  const first = await connect("--owner", person.email.toUpperCase());
  expect([first.code, first.err]).toEqual([0, ""]);
  const id = polarSeller.organization_id;
  expect(JSON.parse(first.out)).toMatchObject({ organization_id: id, polar_id: id, outcome: "created" });
  const at = await polarSeller.client.organizations.get({ params: { id } });
  expect(await find()).toMatchObject({ id, polar_id: id, name: at.name, slug: at.slug });
  const owners = await deps.db.select().from(member).where(eq(member.organizationId, id));
  expect(owners).toMatchObject([{ userId: person.user_id, role: "owner" }]);
  // The server that runs finds it by itself, and the owner uses it by its one id.
  await hosted.refreshLink();
  const { status, json } = await floe.request("GET", `/v1/organizations/${id}`, { token: person.session });
  expect([status, json]).toMatchObject([200, { id, slug: at.slug }]);
  // Repeated, and by two at once, it stays the one.
  await Promise.all([1, 2].map(() => createLinkedOrganization(deps, hosted, person.email)));
  expect(JSON.parse((await connect("--owner", person.email)).out).outcome).toBe("unchanged");
  expect(await deps.db.select().from(member).where(eq(member.organizationId, id))).toHaveLength(1);
});
