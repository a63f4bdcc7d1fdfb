/** An answer that is a file, written to standard output as it comes. */
import { authHeaders, faultOf } from "../client.ts";
import type { Context } from "../context.ts";
import { open, Unreachable } from "../http.ts";

/** Fetch what is at a path of the API; how long it may say nothing is the time that a request may take. */
export async function download(context: Context, path: string): Promise<void> {
  const { server, timeoutMs } = context.settings();
  const silence = new AbortController();
  const timer = setTimeout(() => silence.abort(), timeoutMs);
  try {
    const { response } = await open({
      method: "GET",
      url: new URL(server + path),
      headers: { "user-agent": `floe-cli/${context.version} (${process.platform})`, ...(await authHeaders(context)) },
      timeoutMs,
      env: context.io.env,
      signal: AbortSignal.any([context.io.signal, silence.signal]),
    });
    const status = response.statusCode ?? 0;
    response.setEncoding("utf8");
    let refusal = "";
    for await (const part of response) {
      timer.refresh();
      if (status === 200) context.print(part as string);
      else refusal += part;
    }
    if (status !== 200) throw faultOf({ status, headers: response.headers, text: refusal }, server);
  } catch (error) {
    if (silence.signal.aborted) throw new Unreachable("ETIMEDOUT", `${server} said nothing for ${timeoutMs / 1000} s`);
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ECONNRESET") throw error;
    throw new Unreachable("ECONNRESET", `${server} broke off: the file is not whole`, "Try again.");
  } finally {
    clearTimeout(timer);
  }
}
