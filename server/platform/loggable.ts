type Coded = { code?: unknown; cause?: unknown };

/** The database's own name for what went wrong, from wherever the driver put it. */
export function readSqlState(error: unknown): string | undefined {
  for (let inner = error; typeof inner === "object" && inner !== null; inner = (inner as Coded).cause) {
    const { code } = inner as Coded;
    if (typeof code === "string" && /^[0-9A-Z]{5}$/.test(code)) return code;
  }
  return undefined;
}

/** An error for the log: where and what, without the values of the query, which may be passwords, tokens or addresses. */
export function redactError(error: unknown): object {
  if (!(error instanceof Error)) return { message: String(error) };
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const cause = error.cause instanceof Error ? { cause: error.cause.message } : {};
  return {
    name: error.name,
    message: error.message.split("\nparams:")[0],
    state: readSqlState(error),
    ...cause,
    stack: frames.join("\n"),
  };
}
