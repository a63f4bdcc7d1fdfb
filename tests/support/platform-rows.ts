/** What buyers and sellers do with the stand-ins of Discord and GitHub. */
import { expect } from "vitest";
import { benefits } from "../../server/catalog/benefits/tables.ts";
import { sealGuild } from "../../server/platform/external/discord.ts";
import type { Platform } from "../../shared/api/portal-accounts.ts";
import type { Floe, Seller } from "./floe.ts";
import { newId } from "./ids.ts";
import type { Platforms } from "./platforms.ts";

/** To a platform and back, as a customer's browser goes; answers the path where it ends. */
export async function connectAccount(floe: Floe, token: string, platform: Platform): Promise<string> {
  const path = `/v1/customer-portal/oauth-accounts/authorize?platform=${platform}`;
  const begun = await floe.request("GET", path, { token });
  expect([begun.status, (begun.json as { detail?: unknown }).detail]).toEqual([200, undefined]);
  const there = await fetch((begun.json as { url: string }).url, { redirect: "manual" });
  const { pathname, search } = new URL(there.headers.get("location") ?? "");
  const cookie = String(begun.headers["set-cookie"]).split(";")[0] ?? "";
  const back = await floe.request("GET", pathname + search, { headers: { cookie } });
  expect(back.status).toBe(302);
  const to = new URL(String(back.headers.location));
  expect(to.origin).toBe(new URL(floe.url).origin);
  return to.pathname + to.search;
}

/** A benefit that gives a role of the stand-in's guild. */
export async function makeRole(
  floe: Floe,
  { client, organization_id }: Seller,
  { state }: Platforms,
  role_id = "10",
  kick_member = false,
): Promise<string> {
  const guild_token = sealGuild(floe.deps.config.secret, { guild_id: state.guild.id, organization_id });
  const properties = { guild_token, role_id, kick_member };
  return (await client.benefits.create({ body: { type: "discord", description: `Role ${role_id}`, properties } })).id;
}

/** A benefit that gives the stand-in's repository, as somebody made it who may. */
export async function makeRepository(floe: Floe, { organization_id }: Seller, permission = "pull"): Promise<string> {
  const properties = { repository_owner: "Floe", repository_name: "book", permission } as never;
  const id = newId();
  await floe.deps.db.insert(benefits).values({
    ...{ id, organization_id, created_at: floe.clock.now(), type: "github_repository", description: "Source" },
    properties,
  });
  return id;
}
