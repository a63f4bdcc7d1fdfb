/** A reader of server-sent events, for tests. */
import { get, type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import { get as getSecurely } from "node:https";
import { patienceMs } from "./eventually.ts";

export type Message = { id?: string; event?: string; data: never };

export type Stream = {
  status: number;
  headers: IncomingHttpHeaders;
  /** The next message; fails when none comes in time or the stream has ended. */
  next(): Promise<Message>;
  /** What comes up to the first message of which this is true, that one included. */
  to(last: (message: Message) => boolean): Promise<Message[]>;
  /** Whatever comes until it is quiet for this long: only for what must not come. */
  rest(quiet_ms: number): Promise<Message[]>;
  /** Resolves when the server ends the stream. */
  ended: Promise<void>;
  close(): void;
};

/** Open a stream of events. */
export async function openStream(url: string, headers: Record<string, string> = {}): Promise<Stream> {
  // Not fetch: it opens spare connections, which then hold up the server's close.
  const options = { agent: false, headers: { accept: "text/event-stream", ...headers } } as const;
  // The certificate of a test is self-signed.
  const request = url.startsWith("https:")
    ? getSecurely(url, { ...options, rejectUnauthorized: false })
    : get(url, options);
  const response = await new Promise<IncomingMessage>((resolve, reject) =>
    request.once("response", resolve).once("error", reject),
  );
  const waiting: Message[] = [];
  let wake: (() => void) | undefined;
  let over = false;
  const ended = read().catch(() => {});
  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    let text = "";
    try {
      for await (const chunk of response) {
        text += decoder.decode(chunk as Buffer, { stream: true });
        const blocks = text.split("\n\n");
        text = blocks.pop() ?? "";
        for (const block of blocks) {
          const fields = new Map(
            block.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]),
          );
          const [id, event, data] = [fields.get("id"), fields.get("event"), fields.get("data")];
          if (data !== undefined)
            waiting.push({ ...(id ? { id } : {}), ...(event ? { event } : {}), data: JSON.parse(data) as never });
        }
        wake?.();
      }
    } finally {
      over = true;
      wake?.();
    }
  }
  const more = (ms: number): Promise<boolean> =>
    new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), ms);
      wake = () => {
        clearTimeout(timer);
        resolve(true);
      };
    });
  async function next(): Promise<Message> {
    const until = Date.now() + patienceMs;
    for (;;) {
      const message = waiting.shift();
      if (message) return message;
      if (over) throw new Error("The stream has ended.");
      if (!(await more(until - Date.now()))) throw new Error(`Nothing came within ${patienceMs} ms.`);
    }
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    next,
    async to(last) {
      const messages: Message[] = [];
      for (;;) {
        const message = await next();
        messages.push(message);
        if (last(message)) return messages;
      }
    },
    async rest(quiet_ms) {
      while (!over && (await more(quiet_ms)));
      return waiting.splice(0);
    },
    ended,
    close: () => void request.destroy(),
  };
}
