import "../../../shared/walls.ts";
import { openLine, type Reply } from "../../platform/external/outbound.ts";
import { answerInThread } from "../../platform/jobs/thread.ts";
import type { Call, End } from "./sender.ts";

/** The lines of senders, by their numbers. */
const lines = new Map<number, ReturnType<typeof openLine>>();

answerInThread(async (order: Call | End): Promise<Reply | null> => {
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
