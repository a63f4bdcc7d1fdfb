import { afterAll, beforeAll, expect, test } from "vitest";
import { openDemoStore } from "../../server/app/demo.ts";
import { embedded } from "../../server/app/providers/embedded.ts";
import { folder } from "../cli/support.ts";
import { type Floe, start } from "../support/floe.ts";

let floe: Floe;
beforeAll(async () => {
  floe = await start();
});
afterAll(() => floe?.close());

test("the seller of a new store finds nobody signed in but themselves, also where the store is made twice", async () => {
  const kept = folder();
  await openDemoStore(floe.deps, floe.auth, embedded, kept);
  const store = await openDemoStore(floe.deps, floe.auth, embedded, kept);
  const { email = "", password = "" } = store ?? {};
  const signed = await floe.request("POST", "/api/auth/sign-in/email", { body: { email, password } });
  const { token } = signed.json as { token: string };
  const listed = await floe.request("GET", "/api/auth/list-sessions", { token });
  expect([listed.status, (listed.json as unknown[]).length]).toEqual([200, 1]);
});
