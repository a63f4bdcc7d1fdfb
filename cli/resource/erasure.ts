/** How far the erasure of a customer is, for a person. */
import type { z } from "zod";
import type { CustomerErasure } from "../../shared/api/customers.ts";
import type { Context } from "../context.ts";
import { showOne } from "./show.ts";

/** Show it, and say what there is left to do. */
export function show(context: Context, answer: unknown): void {
  const { customer_id, finished_at } = answer as z.input<typeof CustomerErasure>;
  const tick = context.paint.err().good("✓");
  showOne(context, answer);
  if (finished_at) context.say(`${tick} The customer is erased, and all that was held has been gone through.\n`);
  else
    context.say(
      `${tick} The customer is erased. What else is held is being gone through.\nNext: floe customers erasure ${customer_id}\n`,
    );
}
