import { assertOutsideTransaction } from "../../platform/db/open-transaction.ts";
import type { OutboundPolicy, OutboundReply } from "../../platform/external/outbound.ts";
import { findProgram, openThread } from "../../platform/jobs/thread.ts";

/** What is sent over a line, which is opened for the first. */
export type SenderCall = {
  kind: "call";
  line: number;
  address: string;
  reach: Omit<OutboundPolicy, "lookup">;
  headers: Record<string, string>;
  body: string;
};
export type SenderEnd = { kind: "end"; line: number };

/** Each call has ended after ten seconds, one way or another. What is rarely told of anything pays for a start each time. */
const thread = openThread<SenderCall | SenderEnd, OutboundReply | null>(
  findProgram(import.meta.url, "webhook-worker"),
  {
    idle_ms: 10 * 60_000,
    silent_ms_max: 30_000,
    memory_mb_max: 256,
  },
);
let count = 0;

/**
 * A connection to an endpoint, as `openLine` has it, in a thread of its own: what is encrypted, sent and waited for takes nothing
 * from requests. Where the thread itself ends, a call is rejected; whether it arrived is not known.
 */
export function openSender(address: string, reach: Omit<OutboundPolicy, "lookup">) {
  const line = count++;
  let isOpen = false;
  return {
    async post(headers: Record<string, string>, body: string): Promise<OutboundReply> {
      assertOutsideTransaction("a webhook endpoint");
      isOpen = true;
      const reply = await thread.ask({ kind: "call", line, address, reach, headers, body });
      if (!reply) throw new Error("A call was answered as an end is.");
      return reply;
    },
    async close(): Promise<void> {
      if (isOpen) await thread.ask({ kind: "end", line });
    },
  };
}
