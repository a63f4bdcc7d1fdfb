/** The shortest and the longest pause between two connections. */
const [pauseMs, pauseMsMax] = [1000, 30_000];

/**
 * Follow floe's events in a browser. A token opens one stream, so each connection gets its own token. It goes on after the last
 * place: no event is missed, and none comes twice. Returns the function that stops it.
 *
 * `getToken` asks your server for a token. `onReset` is called when events cannot be replayed: read your lists again.
 */
export function followEvents({ server, getToken, onEvent, onReset = () => {}, onState = () => {} }) {
  let place = "";
  let failures = 0;
  let isStopped = false;
  let source;
  let timer;

  async function connect() {
    try {
      const token = await getToken();
      if (isStopped) return;
      const query = new URLSearchParams({ token, ...(place && { cursor: place }) });
      open(new EventSource(`${server}/v1/events/stream?${query}`));
    } catch {
      reconnect();
    }
  }

  function open(opened) {
    source = opened;
    const keepPlace = (message) => {
      place = message.lastEventId;
    };
    source.addEventListener("hello", (message) => {
      failures = 0;
      place ||= message.lastEventId;
      onState("connected");
      for (const type of JSON.parse(message.data).types)
        source.addEventListener(type, (event) => {
          onEvent(JSON.parse(event.data));
          keepPlace(event);
        });
    });
    source.addEventListener("cursor", keepPlace);
    source.addEventListener("reset", (message) => {
      keepPlace(message);
      onReset(JSON.parse(message.data).reason);
    });
    source.addEventListener("reconnect", () => reconnect());
    // The browser would try the same address again, whose token is used.
    source.addEventListener("error", () => reconnect());
  }

  function reconnect() {
    source?.close();
    clearTimeout(timer);
    if (isStopped) return;
    onState("connecting");
    const longest = Math.min(pauseMs * 2 ** failures, pauseMsMax);
    failures += 1;
    timer = setTimeout(connect, longest * (0.5 + Math.random() / 2));
  }

  void connect();
  return () => {
    isStopped = true;
    clearTimeout(timer);
    source?.close();
  };
}
