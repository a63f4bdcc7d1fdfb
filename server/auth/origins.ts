import type { Config } from "../config.ts";

/** Where our own pages are served; on this machine under each of its two names. */
export const originsOf = ({ url, loopback, PORT }: Config): string[] =>
  loopback ? [new URL(url).origin, `http://localhost:${PORT}`, `http://127.0.0.1:${PORT}`] : [new URL(url).origin];
