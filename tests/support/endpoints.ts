/** Every call that the account side answers: better-auth's with its plugins', and our own routes. */
import { betterAuth } from "better-auth";
import { createPlugins } from "../../server/identity/accounts/plugins.ts";
import type { Floe } from "./floe.ts";

export type Endpoint = { method: "GET" | "POST"; path: string };
type Described = { path?: string; options?: { method?: string | string[] } };

export function endpointsOf(floe: Pick<Floe, "deps" | "url" | "app">): Endpoint[] {
  const { api } = betterAuth({
    secret: floe.deps.config.secret,
    baseURL: floe.url,
    plugins: createPlugins(floe.deps, {} as never, {} as never),
  });
  const theirs = (Object.values(api) as Described[]).flatMap(({ path, options }) =>
    path === undefined ? [] : [options?.method ?? []].flat().map((method) => `${method} ${path}`),
  );
  const own = floe.app.printRoutes({ commonPrefix: false }).matchAll(/\/api\/auth(\/[^\s*]+) \(([A-Z, ]+)\)/g);
  const ours = [...own].flatMap(([, path, methods = ""]) => methods.split(", ").map((method) => `${method} ${path}`));
  return [...new Set([...theirs, ...ours])].sort().flatMap((one): Endpoint[] => {
    const [method, path = ""] = one.split(" ");
    return method === "GET" || method === "POST" ? [{ method, path }] : [];
  });
}
