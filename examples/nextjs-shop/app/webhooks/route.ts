import { webhooks } from "@polar-sh/sdk/2026-10";
import { readSetting } from "../../lib/floe.ts";

/** Receive webhooks. `examples/webhook-receiver/` describes the rules of a receiver. */
export async function POST(request: Request): Promise<Response> {
  try {
    const event = await webhooks.validateEvent(
      await request.text(),
      {
        "webhook-id": request.headers.get("webhook-id") ?? "",
        "webhook-timestamp": request.headers.get("webhook-timestamp") ?? "",
        "webhook-signature": request.headers.get("webhook-signature") ?? "",
      },
      readSetting("FLOE_WEBHOOK_SECRET"),
    );
    // A shop gives access here, in a transaction that also stores the `webhook-id`.
    if (event.type === "order.paid") console.log(`order.paid: ${event.data.id}`);
    return new Response(null, { status: 204 });
  } catch (error) {
    if (error instanceof webhooks.PolarWebhookVerificationError) return new Response(null, { status: 403 });
    if (error instanceof webhooks.PolarWebhookUnknownTypeError) return new Response(null, { status: 202 });
    throw error;
  }
}
