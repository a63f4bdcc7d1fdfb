import "../../../shared/walls.ts";
import { type OutboundReply, openLine } from "../../platform/external/outbound.ts";
import { serveThread } from "../../platform/jobs/thread.ts";
import type { SenderCall, SenderEnd } from "./sender.ts";

/** The lines of senders, by their numbers. */
const lines = new Map<number, ReturnType<typeof openLine>>();

serveThread(async (order: SenderCall | SenderEnd): Promise<OutboundReply | null> => {
  const { line } = order;
  if (order.kind === "end") {
    lines.get(line)?.close();
    lines.delete(line);
    return null;
  }
  const open = lines.get(line) ?? openLine(order.address, order.reach);
  lines.set(line, open);
  return open.post(order.headers, order.body);
});
