import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { eq, sql } from "drizzle-orm";
import { z } from "zod";
import { ProductCreate } from "../../shared/api/products.ts";
import { scopes } from "../../shared/scopes.ts";
import type { Auth } from "../identity/accounts/auth.ts";
import { user } from "../identity/accounts/tables.ts";
import { anonymous, type Ctx, type Deps } from "../platform/context.ts";
import { legacyProfile } from "../platform/http/profiles.ts";
import type { Provider } from "../platform/provider.ts";

const Demo = z.object({ email: z.string(), password: z.string(), organization_id: z.string().optional() });
export type DemoStore = { email: string; password: string; organization_id: string };

/**
 * The store that a first start makes: an owner, an organization and one product. The password is made up before anything
 * is stored and kept in the data folder, and each step can be repeated, so a start that was cut off is finished by the next.
 */
export async function openDemoStore(
  deps: Deps,
  auth: Auth,
  provider: Provider,
  folder: string,
): Promise<DemoStore | null> {
  const file = join(folder, "demo.json");
  if (!existsSync(file)) {
    const [row] = await deps.db.select({ users: sql<number>`count(*)::int` }).from(user);
    if (row && row.users > 0) return null;
    save(file, { email: "seller@example.com", password: randomBytes(9).toString("base64url") });
  }
  const kept = Demo.parse(JSON.parse(readFileSync(file, "utf8")));
  if (kept.organization_id) return { ...kept, organization_id: kept.organization_id };
  const { user_id, organization_id, session } = await auth.signUpSeller({
    email: kept.email,
    password: kept.password,
    name: "Demo Seller",
    organizationName: "Demo Store",
    slug: "demo",
  });
  // Nobody has this address, so a server that requires confirmation would never let the seller in.
  await deps.db.update(user).set({ emailVerified: true }).where(eq(user.id, user_id));
  // The seller is to find nobody signed in but themselves.
  await auth.endSession(session);
  const actor = { ...anonymous, kind: "system" as const, organization_id, scopes: new Set(scopes) };
  const ctx: Ctx = { ...deps, actor, client: legacyProfile, ip: "127.0.0.1", isForwarded: false, extraWrites: [] };
  const listed = await provider.products.list(ctx, { query: { page: 1, limit: 1, sorting: ["created_at"] } });
  if (listed.items.length === 0) {
    await provider.products.create(ctx, {
      body: ProductCreate.parse({
        name: "Field Guide to Ice",
        description: "A small book on reading drift ice: 84 pages, PDF and EPUB.",
        prices: [{ amount_type: "fixed", price_amount: 1900, price_currency: "usd" }],
      }),
    });
  }
  const store = { email: kept.email, password: kept.password, organization_id };
  save(file, store);
  return store;
}

const save = (file: string, demo: z.input<typeof Demo>) =>
  writeFileSync(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
