import { connect, createServer } from "node:net";

/** The parameters of a Bind message, as texts; null is null. */
function readParameters(message, at) {
  const formats = message.readInt16BE(at);
  let place = at + 2 + 2 * formats;
  const count = message.readInt16BE(place);
  place += 2;
  return Array.from({ length: count }, () => {
    const length = message.readInt32BE(place);
    place += 4;
    if (length < 0) return null;
    place += length;
    return message.toString("utf8", place - length, place);
  });
}

/**
 * A way to a PostgreSQL that counts the statements that pass, begin and commit among them. While `seen.statements` is a list,
 * it gets each as `{ text, parameters, connection }`.
 */
export async function openCountingProxy(databaseUrl) {
  const target = new URL(databaseUrl);
  const [host, port] = [target.hostname, Number(target.port)];
  const seen = { count: 0, statements: undefined };
  let connections = 0;
  const server = createServer((client) => {
    connections += 1;
    const connection = connections;
    const database = connect(port, host);
    const named = new Map();
    let rest = Buffer.alloc(0);
    let isStarted = false;
    const note = (text, parameters) => {
      seen.count += 1;
      seen.statements?.push({ text, parameters, connection });
    };
    client.on("data", (chunk) => {
      database.write(chunk);
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const head = isStarted ? 1 : 0;
        if (rest.length < head + 4) break;
        const length = head + rest.readInt32BE(head);
        if (rest.length < length) break;
        const message = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (!isStarted) {
          isStarted = true;
          continue;
        }
        const type = String.fromCharCode(message[0]);
        const portalEnd = message.indexOf(0, 5);
        const first = message.toString("utf8", 5, portalEnd);
        if (type === "Q") note(first, []);
        if (type !== "P" && type !== "B") continue;
        const secondEnd = message.indexOf(0, portalEnd + 1);
        const second = message.toString("utf8", portalEnd + 1, secondEnd);
        if (type === "P") named.set(first, second);
        else note(named.get(second) ?? "", seen.statements ? readParameters(message, secondEnd + 1) : []);
      }
    });
    database.on("data", (chunk) => client.write(chunk));
    const end = () => {
      client.destroy();
      database.destroy();
    };
    for (const socket of [client, database]) socket.on("error", end).on("close", end);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  target.port = String(server.address().port);
  return { url: target.href, seen, close: () => server.close() };
}
