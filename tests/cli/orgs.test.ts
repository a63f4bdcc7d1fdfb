/** `floe orgs create` where several sellers share a server: a document's line works for the second one too. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Floe, type Seller, start } from "../support/floe.ts";
import { floe, folder } from "./support.ts";

let server: Floe;
beforeAll(async () => {
  server = await start({ listen: true });
});
afterAll(() => server?.close());

/** A terminal in which a seller is signed in. */
function openTerminal({ session }: Seller) {
  const env = { FLOE_CONFIG_DIR: folder(), FLOE_SERVER: server.url };
  const credentials = { default: { [server.url]: { token: session } } };
  writeFileSync(join(env.FLOE_CONFIG_DIR, "credentials.json"), JSON.stringify(credentials), { mode: 0o600 });
  return (...words: string[]) => floe(["orgs", ...words], { env });
}

test.each([
  { what: "a sandbox", more: ["--sandbox"], name: "Showcase" },
  { what: "an organization", more: [], name: "Long Name ".repeat(9).slice(0, 64) },
])("$what of a name that another seller has is made, with a slug of its own", async ({ more, name }) => {
  const [one, other] = [openTerminal(await server.seller()), openTerminal(await server.seller())];
  const first = await one("create", name, ...more);
  const second = await other("create", name, ...more);
  expect([first.code, second.code, second.err]).toEqual([0, 0, expect.stringContaining("Created")]);
  const { slug } = JSON.parse(first.out) as { slug: string };
  const made = JSON.parse(second.out) as { slug: string };
  expect(made).toMatchObject({ name, slug: expect.stringMatching(/-[0-9a-f]{6}$/) });
  expect(made.slug.length).toBeLessThanOrEqual(64);
  // A slug that was asked for is this one, or is refused.
  const asked = await other("create", name, "--slug", slug, ...more);
  expect([asked.code, asked.out, asked.err]).toEqual([1, "", expect.stringMatching(/already exists/i)]);
  // A line that is typed twice makes nothing twice.
  const before = (await one("list")).out;
  const again = await one("create", name, ...more);
  expect([again.code, again.out, again.err]).toEqual([1, "", expect.stringMatching(/already exists/i)]);
  expect((await one("list")).out).toBe(before);
});
