/**
 * A pooler in transaction mode, as PgBouncer is one: each transaction of a client may get another connection, and the end of a
 * client ends a transaction that it has open, but no session. It keeps prepared statements (as PgBouncer 1.21) or does not.
 */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

type Backend = {
  socket: Socket;
  client: Client | undefined;
  prepared: Set<string>;
  /** Whether the client, or only the pooler, waits for each `ParseComplete`. */
  parses: ("client" | "pooler")[];
};
type Client = { socket: Socket; backend: Backend | undefined; unanswered: number; statements: Map<string, Buffer> };

const sslRequest = 80877103;
const cancelRequest = 80877102;

/** Cut a stream into messages; the first of a client has no type. */
function readMessages(hasStartup: boolean, handle: (message: Buffer, type: string) => void) {
  let rest = Buffer.alloc(0);
  let isStarting = hasStartup;
  return (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (;;) {
      const head = isStarting ? 0 : 1;
      if (rest.length < head + 4 || rest.length < head + rest.readUInt32BE(head)) return;
      const length = head + rest.readUInt32BE(head);
      const message = rest.subarray(0, length);
      rest = rest.subarray(length);
      const code = isStarting ? message.readUInt32BE(4) : 0;
      if (code !== sslRequest) isStarting = false;
      handle(message, head === 0 ? String(code) : String.fromCharCode(message[0] ?? 0));
    }
  };
}
const readName = (message: Buffer, from: number): string => message.toString("utf8", from, message.indexOf(0, from));
/** The prepared statement that a message refers to. */
function findStatement(message: Buffer, type: string): string {
  if (type === "B") return readName(message, message.indexOf(0, 5) + 1);
  return type === "D" && message[5] === 0x53 ? readName(message, 6) : "";
}

export async function openPooler(to: string, { size, keepsPrepared }: { size: number; keepsPrepared: boolean }) {
  const { hostname, port } = new URL(to);
  const backends: Backend[] = [];
  const idle: Backend[] = [];
  const waiting: (() => void)[] = [];
  const clients = new Set<Client>();
  const parameters: Buffer[] = [];
  let opened = 0;

  const release = (backend: Backend) => {
    if (backend.client) backend.client.backend = undefined;
    backend.client = undefined;
    idle.push(backend);
    waiting.shift()?.();
  };
  /** The first clients log in at the database itself; their connections make up the pool. */
  function openBackend(client: Client, startup: Buffer): void {
    opened += 1;
    const socket = connect(Number(port), hostname);
    const backend: Backend = { socket, client, prepared: new Set(), parses: [] };
    backends.push(backend);
    client.backend = backend;
    socket.write(startup);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      opened -= 1;
      for (const list of [backends, idle]) if (list.includes(backend)) list.splice(list.indexOf(backend), 1);
      backend.client?.socket.destroy();
    });
    const keep = parameters.length === 0;
    const handle = readMessages(false, (message, type) => {
      if (type === "S" && keep) parameters.push(message);
      if (type === "1" && backend.parses.shift() === "pooler") return;
      backend.client?.socket.write(message);
      if (type !== "Z") return;
      backend.parses = [];
      const owner = backend.client;
      if (owner) owner.unanswered = Math.max(0, owner.unanswered - 1);
      if (message[5] === 0x49 && owner?.unanswered === 0) release(backend);
    });
    socket.on("data", handle);
  }
  function fakeLogin(client: Client): void {
    const key = Buffer.from([0x4b, 0, 0, 0, 12, 0, 0, 0, 1, 0, 0, 0, 1]);
    const ready = Buffer.from([0x5a, 0, 0, 0, 5, 0x49]);
    client.socket.write(Buffer.concat([Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), ...parameters, key, ready]));
  }
  function forward(client: Client, message: Buffer, type: string): void {
    const { backend } = client;
    if (!backend) return;
    if (type === "Q" || type === "S") client.unanswered += 1;
    const name = type === "P" ? readName(message, 5) : findStatement(message, type);
    if (type === "P") {
      client.statements.set(name, Buffer.from(message));
      backend.prepared.add(name);
      backend.parses.push("client");
    } else if (keepsPrepared && name !== "" && !backend.prepared.has(name)) {
      backend.socket.write(client.statements.get(name) ?? Buffer.alloc(0));
      backend.prepared.add(name);
      backend.parses.push("pooler");
    }
    backend.socket.write(message);
  }
  const server = createServer((socket) => {
    const client: Client = { socket, backend: undefined, unanswered: 0, statements: new Map() };
    clients.add(client);
    const held: [Buffer, string][] = [];
    const flush = () => {
      // The one that was idle longest: the next transaction is never where the last one was.
      client.backend ??= idle.shift();
      if (!client.backend) return;
      client.backend.client = client;
      for (const [message, type] of held.splice(0)) forward(client, message, type);
    };
    const handle = readMessages(true, (message, type) => {
      if (type === String(sslRequest)) return void socket.write("N");
      if (type === String(cancelRequest)) return void socket.destroy();
      if (message[0] === 0) {
        if (opened < size) openBackend(client, message);
        else fakeLogin(client);
      } else if (type === "X") socket.end();
      else if (client.backend) forward(client, message, type);
      else {
        held.push([message, type]);
        if (held.length === 1 && idle.length === 0) waiting.push(flush);
        else if (held.length === 1 || idle.length > 0) flush();
      }
    });
    socket.on("data", handle);
    socket.on("error", () => socket.destroy());
    socket.on("close", () => {
      clients.delete(client);
      if (waiting.includes(flush)) waiting.splice(waiting.indexOf(flush), 1);
      // A transaction that is left open is not lent on.
      client.backend?.socket.destroy();
    });
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const through = new URL(to);
  through.port = String((server.address() as AddressInfo).port);
  if (!keepsPrepared) through.searchParams.set("prepare", "false");
  return {
    url: through.href,
    async close(): Promise<void> {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { socket } of [...clients, ...backends]) socket.destroy();
      await closed;
    },
  };
}
