/** Server-sent events, read from a stream of bytes (WHATWG HTML, section 9.2). */

/** One event, with the last id seen up to it. */
export type StreamEvent = { event: string; data: string; id?: string };

/** Turns pieces of text into events; a piece may end anywhere. */
export function createEventReader(): { push(text: string): StreamEvent[] } {
  let rest = "";
  let event = "";
  let data: string[] = [];
  let id: string | undefined;
  const readLine = (text: string): StreamEvent | undefined => {
    if (text === "") {
      const done =
        data.length > 0
          ? { event: event || "message", data: data.join("\n"), ...(id !== undefined && { id }) }
          : undefined;
      event = "";
      data = [];
      return done;
    }
    if (text.startsWith(":")) return undefined;
    const at = text.indexOf(":");
    const field = at < 0 ? text : text.slice(0, at);
    const value = at < 0 ? "" : text.slice(at + 1).replace(/^ /, "");
    if (field === "event") event = value;
    else if (field === "data") data.push(value);
    else if (field === "id" && !value.includes("\0")) id = value;
    return undefined;
  };
  return {
    push(text) {
      rest += text;
      const found: StreamEvent[] = [];
      // A carriage return at the very end may be half of a line end: it waits for what follows.
      for (let end = /\r\n|\n|\r(?!$)/.exec(rest); end; end = /\r\n|\n|\r(?!$)/.exec(rest)) {
        const done = readLine(rest.slice(0, end.index));
        if (done) found.push(done);
        rest = rest.slice(end.index + end[0].length);
      }
      return found;
    },
  };
}
