import { createReceiver } from "./receiver.ts";

const secret = process.env.FLOE_WEBHOOK_SECRET;
if (!secret) {
  console.error("Set FLOE_WEBHOOK_SECRET to the secret of the webhook endpoint.");
  process.exit(64);
}

const server = createReceiver(secret, async (event) => {
  if (event.type === "order.paid")
    console.log(`order.paid: ${event.data.id}, ${event.data.total_amount} ${event.data.currency} (minor units)`);
  else console.log(event.type);
});
server.listen(Number(process.env.PORT ?? 3000), () => console.error("Waiting for webhooks at", server.address()));
