import type { BetterAuthPlugin } from "better-auth";
import { createAuthEndpoint } from "better-auth/api";
import type { Config } from "../config.ts";

/** The social providers that have been set up. */
export function providersOf(config: Config) {
  const pair = (clientId: string | undefined, clientSecret: string | undefined) =>
    clientId && clientSecret ? { clientId, clientSecret } : undefined;
  const github = pair(config.GITHUB_CLIENT_ID, config.GITHUB_CLIENT_SECRET);
  const google = pair(config.GOOGLE_CLIENT_ID, config.GOOGLE_CLIENT_SECRET);
  const discord = pair(config.DISCORD_CLIENT_ID, config.DISCORD_CLIENT_SECRET);
  return { ...(github ? { github } : {}), ...(google ? { google } : {}), ...(discord ? { discord } : {}) };
}

const names: Record<string, string> = { github: "GitHub", google: "Google", discord: "Discord" };

/** Signing in with other services, and what there is to sign in with. */
export const social = (config: Config) => {
  const methods = {
    password: true,
    username: true,
    anonymous: true,
    providers: Object.keys(providersOf(config)).map((id) => ({ id, name: names[id] ?? id })),
  };
  return {
    id: "floe-social",
    endpoints: {
      signInMethods: createAuthEndpoint("/methods", { method: "GET" }, async (ctx) => ctx.json(methods)),
    },
  } satisfies BetterAuthPlugin;
};
