/** Members, invitations, teams, roles, sessions and the audit log from the terminal, against the real server. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eq } from "drizzle-orm";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { user } from "../../server/identity/accounts/tables.ts";
import { sealNewEntries } from "../../server/operations/audit/store.ts";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
let owner: Seller;
let guest: Seller;
let mine: Record<string, string>;
let theirs: Record<string, string>;

/** The environment of somebody who signed in by `floe login` and chose their organization. */
async function signedIn(seller: Seller): Promise<Record<string, string>> {
  const config = join(folder(), "floe");
  mkdirSync(config, { recursive: true });
  const credentials = { default: { [server.url]: { token: seller.session } } };
  writeFileSync(join(config, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  const env = { FLOE_SERVER: server.url, FLOE_CONFIG_DIR: config };
  const { code, err } = await floe(["orgs", "use", seller.organization_id], { env });
  expect([code, err]).toEqual([0, expect.stringContaining("Organization:")]);
  return env;
}

beforeAll(async () => {
  server = await start({ listen: true, realTime: true });
  owner = await server.seller("owner");
  guest = await server.seller("guest");
  await server.deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, guest.user_id));
  mine = await signedIn(owner);
  theirs = await signedIn(guest);
});
afterAll(() => server.close());

async function ok(env: Record<string, string>, ...argv: string[]): Promise<{ out: string; err: string }> {
  const { code, out, err } = await floe(argv, { env });
  expect([argv.join(" "), code, err]).toEqual([argv.join(" "), 0, expect.any(String)]);
  return { out, err };
}
const json = async <T>(env: Record<string, string>, ...argv: string[]): Promise<T> =>
  JSON.parse((await ok(env, ...argv, "--json")).out) as T;

describe("people of an organization", () => {
  test("invite, accept, give a role of one's own, and see it decide what the member may do", async () => {
    await ok(mine, "roles", "create", "clerk", "--allow", "orders:read", "--allow", "customers:read,write");
    const roles = await json<{ role: string; built_in: boolean; permissions: string[] }[]>(mine, "roles", "list");
    expect(roles.map(({ role }) => role)).toEqual(["owner", "admin", "support", "viewer", "member", "clerk"]);
    expect(roles.at(-1)).toMatchObject({ built_in: false, permissions: ["orders:read", "customers:read,write"] });

    await ok(mine, "teams", "create", "Help desk");
    await ok(mine, "invitations", "create", guest.email, "--role", "clerk", "--team", "help desk");
    const [invitation] = await json<{ id: string; status: string }[]>(theirs, "invitations", "list", "--mine");
    expect(invitation?.status).toBe("pending");
    await ok(theirs, "invitations", "accept", invitation?.id ?? "");
    expect(await json(mine, "invitations", "list", "--status", "pending")).toEqual([]);

    const members = await json<{ role: string; user: { email: string } }[]>(mine, "members", "list");
    expect(Object.fromEntries(members.map((one) => [one.user.email, one.role]))).toEqual({
      [owner.email]: "owner",
      [guest.email]: "clerk",
    });
    await ok(theirs, "customers", "list", "--org", owner.organization_id);
    const refused = await floe(["products", "list", "--org", owner.organization_id], { env: theirs });
    expect(refused.code).toBe(5);
    await ok(mine, "roles", "update", "clerk", "--allow", "products:read");
    await ok(theirs, "products", "list", "--org", owner.organization_id);

    const inUse = await floe(["roles", "delete", "clerk", "--yes"], { env: mine });
    expect(inUse.code).not.toBe(0);
    await ok(mine, "members", "role", guest.email, "member");
    await ok(mine, "roles", "delete", "clerk", "--yes");
    await ok(mine, "members", "remove", guest.email, "--yes");
    expect((await floe(["products", "list", "--org", owner.organization_id], { env: theirs })).code).toBe(6);
  });

  test("a role that allows what does not exist is refused before anything is sent", async () => {
    const { code, err } = await floe(["roles", "create", "x", "--allow", "orders:burn"], { env: mine });
    expect(code).toBe(64);
    expect(err).toContain("orders:read,write");
  });

  test("teams are made, filled, renamed and deleted by name", async () => {
    await ok(mine, "teams", "create", "Backend");
    await ok(mine, "teams", "add", "backend", owner.email);
    const inside = await json<{ user: { email: string } }[]>(mine, "teams", "members", "backend");
    expect(inside.map(({ user: one }) => one.email)).toEqual([owner.email]);
    await ok(mine, "teams", "remove", "backend", owner.email);
    await ok(mine, "teams", "rename", "backend", "Platform");
    expect((await json<{ name: string }[]>(mine, "teams", "list")).map(({ name }) => name)).toContain("Platform");
    await ok(mine, "teams", "delete", "Platform", "--yes");
    const gone = await floe(["teams", "members", "Platform"], { env: mine });
    expect([gone.code, gone.err]).toEqual([6, expect.stringContaining("floe teams list")]);
  });

  test("an invitation is canceled by its address", async () => {
    await ok(mine, "invitations", "create", "nobody@example.com");
    await ok(mine, "invitations", "cancel", "nobody@example.com", "--yes");
    const [last] = await json<{ status: string }[]>(mine, "invitations", "list", "--status", "canceled");
    expect(last?.status).toBe("canceled");
  });
});

describe("one's own sign-ins and keys", () => {
  test("sessions are listed without what names them, and ended by id", async () => {
    const again = await server.auth.signUpSeller({ ...guest, name: "guest", organizationName: "x", slug: "x" });
    const { out } = await ok(theirs, "sessions", "list", "--json");
    expect(out).not.toMatch(/"token"|sha256/);
    const sessions = JSON.parse(out) as { id: string; current: boolean }[];
    expect(sessions.filter(({ current }) => current)).toHaveLength(1);
    const other = sessions.find(({ current }) => !current);
    await ok(theirs, "sessions", "revoke", other?.id ?? "", "--yes");
    expect((await server.request("GET", "/v1/organizations/", { token: again.session })).status).toBe(401);
    await ok(theirs, "whoami");
    const unclear = await floe(["sessions", "revoke"], { env: theirs });
    expect(unclear.code).toBe(64);
  });

  test("a key of one's own works in one's organizations, is renewed and revoked", async () => {
    const made = await json<{ id: string; key: string }>(
      mine,
      "api-keys",
      "create",
      "mine",
      "--personal",
      "--scopes",
      "products:read",
    );
    const products = (key: string) =>
      floe(["products", "list"], { env: { ...mine, FLOE_API_KEY: key, FLOE_ORG: owner.organization_id } });
    expect((await products(made.key)).code).toBe(0);
    const next = await json<{ key: string }>(mine, "api-keys", "rotate", made.id, "--grace", "0");
    expect((await products(made.key)).code).toBe(4);
    expect((await products(next.key)).code).toBe(0);
    await ok(mine, "api-keys", "update", made.id, "--disable");
    expect((await products(next.key)).code).toBe(4);
    await ok(mine, "api-keys", "revoke", made.id, "--yes");
    expect(await json(mine, "api-keys", "list", "--personal")).toEqual([]);
  });

  test("a key is named by its name or its beginning; two of one name are told apart by their ids", async () => {
    const create = (...more: string[]) => json<{ id: string; start: string }>(mine, "api-keys", "create", ...more);
    const [site, own] = [await create("Our website"), await create("Laptop", "--personal")];
    await ok(mine, "api-keys", "update", "our website", "--disable");
    await ok(mine, "api-keys", "update", site.start, "--enable");
    await ok(mine, "api-keys", "revoke", "Laptop", "--yes");
    expect(await json(mine, "api-keys", "list", "--personal")).toEqual([]);
    const twin = await create("Our website");
    const unclear = await floe(["api-keys", "revoke", "Our website", "--yes"], { env: mine });
    expect(unclear.code).toBe(64);
    for (const id of [site.id, twin.id]) expect(unclear.err).toContain(id);
    const unknown = await floe(["api-keys", "revoke", "Nobody's", "--yes"], { env: mine });
    expect([unknown.code, unknown.err]).toEqual([6, expect.stringContaining('there is no key "Nobody\'s"')]);
    for (const { id } of [site, twin]) await ok(mine, "api-keys", "revoke", id, "--yes");
    expect(own.id).not.toBe(site.id);
  });

  test("what was done is in the audit log, for owners", async () => {
    const entries = await json<{ action: string; actor: { email?: string } }[]>(
      mine,
      "audit",
      "list",
      "--limit",
      "200",
    );
    const actions = entries.map(({ action }) => action);
    expect(actions).toEqual(expect.arrayContaining(["team.created", "invitation.created", "member.removed"]));
    expect(entries.find(({ action }) => action === "team.created")?.actor.email).toBe(owner.email);
    const table = await floe(["audit", "list"], { env: mine, tty: true, columns: 160 });
    expect(table.out).toContain(owner.email);
  });

  test("the sealed log is exported and verified over the API, for owners (AUD-05)", async () => {
    await sealNewEntries(server.deps, new Date(), 1000);
    const [chain] = await json<{ chain: string; entries: number; head: string }[]>(mine, "audit", "verify", "--remote");
    expect([chain?.chain, chain && chain.entries > 5]).toEqual([owner.organization_id, true]);
    const head = chain?.head ?? "";
    await ok(mine, "audit", "verify", "--remote", "--head", head);
    const missed = await floe(["audit", "verify", "--remote", "--head", "0".repeat(64)], { env: mine });
    expect([missed.code, missed.err]).toEqual([1, expect.stringContaining("not what was sealed")]);
    const file = join(folder(), "audit.ndjson");
    const { out } = await ok(mine, "audit", "export", "--remote");
    writeFileSync(file, out);
    await ok({}, "audit", "verify", file, "--head", head);
    writeFileSync(file, out.replace('"team.created"', '"team.deleted"'));
    expect((await floe(["audit", "verify", file], { env: {} })).code).toBe(1);
    for (const more of [
      ["--since", "7d"],
      ["--organization", "x"],
      ["--data-dir", "x"],
    ])
      expect((await floe(["audit", "export", "--remote", ...more], { env: mine })).code).toBe(64);
    expect((await floe(["audit", "verify", file, "--remote"], { env: mine })).code).toBe(64);
  });
});
