/** A TCP proxy whose connections can fall silent, as after a fail-over that nobody tells: they stay open and carry nothing. */
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

export async function openStallingProxy(to: string) {
  const { hostname, port } = new URL(to);
  const sockets = new Set<Socket>();
  const proxy = createServer((socket) => {
    const upstream = connect(Number(port), hostname);
    socket.pipe(upstream).pipe(socket);
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      sockets.add(one);
      one.on("error", () => one.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  const through = new URL(to);
  through.port = String((proxy.address() as AddressInfo).port);
  return {
    url: through.href,
    /** Silence the connections that are open. New ones work. */
    silence(): void {
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** End all connections, and refuse new ones. */
    async close(): Promise<void> {
      const closed = new Promise((resolve) => proxy.close(resolve));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
