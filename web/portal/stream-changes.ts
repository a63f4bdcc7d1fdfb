import { streamPaths } from "../../shared/stream-paths.ts";

const againMs = 5000;
const quietMs = 250;

/**
 * Calls back once something has happened to a customer, until stopped, and once their session is over. The stream is opened anew where
 * it breaks off.
 */
export function streamChanges({ token, ended }: { token: string; ended: () => void }, heard: () => void): () => void {
  const stopping = new AbortController();
  let soon: ReturnType<typeof setTimeout> | undefined;
  let again: ReturnType<typeof setTimeout> | undefined;
  // One thing that happens is told in several messages.
  const emitChange = (): void => {
    soon ??= setTimeout(() => {
      soon = undefined;
      heard();
    }, quietMs);
  };
  const listen = async (): Promise<void> => {
    // EventSource could not send the token but in the address, where it would be logged.
    const answer = await fetch(streamPaths.customer, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
      signal: stopping.signal,
    });
    if (answer.status === 401) ended();
    // A server that has no stream, or a session that is over.
    if (answer.status >= 400 && answer.status < 500) return stopping.abort();
    const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
    for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
      if (/^data:/m.test(part.value)) emitChange();
  };
  const open = (): void => {
    // Whatever ends it, it is tried again.
    void listen()
      .catch(() => undefined)
      .then(() => {
        if (!stopping.signal.aborted) again = setTimeout(open, againMs);
      });
  };
  open();
  return () => {
    stopping.abort();
    clearTimeout(soon);
    clearTimeout(again);
  };
}
