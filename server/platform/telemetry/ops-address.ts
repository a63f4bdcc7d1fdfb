/** Where the operator's server listens: `9464`, `127.0.0.1:9464` or `[::1]:9464`. A port alone is on loopback. */
export function parseOpsAddress(text: string): { host: string; port: number } | undefined {
  const [, host, port] = /^(?:(\[[0-9a-fA-F:]+\]|[^:]+):)?(\d{1,5})$/.exec(text) ?? [];
  if (port === undefined || Number(port) > 65_535) return undefined;
  return { host: host?.replace(/^\[|\]$/g, "") ?? "127.0.0.1", port: Number(port) };
}
