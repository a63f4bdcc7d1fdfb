import { join } from "node:path";

/** Where floe keeps what it can do without; undefined where the user has no such place. */
export function findCacheFolder(env: Record<string, string | undefined>): string | undefined {
  const cache = env.XDG_CACHE_HOME || env.LOCALAPPDATA || (env.HOME && join(env.HOME, ".cache"));
  return cache ? join(cache, "floe") : undefined;
}
