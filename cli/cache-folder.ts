import { join } from "node:path";

/** Where floe keeps what it can do without; undefined where the user has no such place. */
export function findCacheFolder(env: Record<string, string | undefined>): string | undefined {
  const cache = env.XDG_CACHE_HOME || env.LOCALAPPDATA || (env.HOME && join(env.HOME, ".cache"));
  return cache ? join(cache, "floe") : undefined;
}

/** Where floe keeps its settings for this user. */
export function findSettingsFolder(env: Record<string, string | undefined>): string {
  if (env.FLOE_CONFIG_DIR) return env.FLOE_CONFIG_DIR;
  const home = env.HOME ?? env.USERPROFILE ?? ".";
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, "floe");
  return env.APPDATA ? join(env.APPDATA, "floe") : join(home, ".config", "floe");
}
