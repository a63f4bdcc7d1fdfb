/** An answer that is a file, written to standard output as it comes, or to a file that is there whole or not at all. */
import { formatBytes } from "../../shared/bytes.ts";
import { getAuthHeaders, readFault } from "../client.ts";
import type { Context } from "../context.ts";
import { open, UnreachableError } from "../http.ts";
import { canRedraw } from "../io.ts";
import { truncateCell } from "../ui/table.ts";

/** How often a person sees how far it is. */
const drawnEveryMs = 100;

/** Fetch what is at a path of the API; how long it may say nothing is the time that a request may take. */
export async function download(context: Context, path: string, output: string | undefined): Promise<void> {
  if (output === undefined || output === "-") {
    for await (const part of getParts(context, path)) context.print(part);
    return;
  }
  const { saveWhole } = await import("../save.ts");
  const shown = count(context);
  try {
    await saveWhole(output, shown.watch(getParts(context, path)));
  } finally {
    shown.end();
  }
  context.say(`Saved ${output}: ${shown.far()}\n`);
}

/** Says on a terminal how much has come: nobody knows how much there will be. */
function count({ io, say }: Context) {
  const { columns = 80 } = io.stderr;
  const isDrawn = canRedraw(io);
  let [rows, bytes, drawn] = [-1, 0, 0];
  const computeDistance = () =>
    `${Math.max(rows, 0).toLocaleString("en")} ${rows === 1 ? "row" : "rows"}, ${formatBytes(bytes)}`;
  return {
    far: computeDistance,
    async *watch(parts: AsyncIterable<string>): AsyncGenerator<string> {
      for await (const part of parts) {
        // The first line is the head.
        rows += part.split("\n").length - 1;
        bytes += Buffer.byteLength(part);
        if (isDrawn && Date.now() - drawn >= drawnEveryMs) {
          drawn = Date.now();
          say(`\r\u001b[2K${truncateCell(computeDistance(), columns - 1)}`);
        }
        yield part;
      }
    },
    end() {
      if (isDrawn) say("\r\u001b[2K");
    },
  };
}

/** The text of an answer as it comes; with something to send, of a POST. A refusal, a silence and a line that breaks are faults. */
export async function* getParts(context: Context, path: string, sent?: object): AsyncGenerator<string> {
  const { server, timeoutMs } = context.settings();
  const silence = new AbortController();
  const started = Date.now();
  const method = sent === undefined ? "GET" : "POST";
  const timer = setTimeout(() => silence.abort(), timeoutMs);
  try {
    const { response } = await open({
      method,
      url: new URL(server + path),
      headers: {
        "user-agent": `floe-cli/${context.version} (${process.platform})`,
        ...(await getAuthHeaders(context)),
        ...(sent && { "content-type": "application/json" }),
      },
      body: sent && JSON.stringify(sent),
      timeoutMs,
      env: context.io.env,
      signal: AbortSignal.any([context.io.signal, silence.signal]),
    });
    const status = response.statusCode ?? 0;
    context.debug(`${method} ${server}${path} → ${status} in ${Date.now() - started} ms`);
    response.setEncoding("utf8");
    let refusal = "";
    for await (const part of response) {
      timer.refresh();
      if (status === 200) yield part as string;
      else refusal += part;
    }
    if (status !== 200) throw readFault({ status, headers: response.headers, text: refusal }, server);
  } catch (error) {
    if (silence.signal.aborted)
      throw new UnreachableError("ETIMEDOUT", `${server} said nothing for ${timeoutMs / 1000} s`);
    if (!(error instanceof Error) || !("code" in error) || error.code !== "ECONNRESET") throw error;
    throw new UnreachableError("ECONNRESET", `${server} broke off: the file is not whole`, "Try again.");
  } finally {
    clearTimeout(timer);
  }
}
