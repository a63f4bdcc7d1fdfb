import { expect, test } from "vitest";
import { startAccounts } from "../support/accounts.ts";

test("a page learns which ways of signing in are on", async () => {
  const floe = await startAccounts({ GITHUB_CLIENT_ID: "id", GITHUB_CLIENT_SECRET: "secret" });
  try {
    const { status, json } = await floe.request("GET", "/api/auth/methods");
    expect({ status, json }).toEqual({
      status: 200,
      json: { password: true, username: true, anonymous: true, providers: [{ id: "github", name: "GitHub" }] },
    });
  } finally {
    await floe.close();
  }
});
