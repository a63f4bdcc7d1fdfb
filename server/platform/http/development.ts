import type { FastifyInstance, FastifyRequest } from "fastify";
import { z } from "zod";
import { CheckoutCreate } from "../../../shared/api/checkouts.ts";
import { webUrl } from "../../../shared/api/fields.ts";
import { ApiError, notFound } from "../../../shared/errors.ts";
import { formatMoney } from "../../../shared/money.ts";
import { scopes } from "../../../shared/scopes.ts";
import { type Actor, anonymous, type Deps } from "../context.ts";
import { listMails } from "../mail-transport/mail.ts";
import type { Provider } from "../provider.ts";
import { isFromHere } from "./from-here.ts";
import { createRequestContext } from "./mount.ts";
import { readFaults } from "./validation-errors.ts";

const DemoCheckout = z.object({ product_id: z.uuid(), embed_origin: webUrl.optional() });
const demoProductsMax = 50;

/** The demo shop's and the mail inbox's data, for a server on a developer's own machine. */
export function addDevelopmentRoutes(
  app: FastifyInstance,
  deps: Deps,
  provider: Provider,
  organization_id: string,
): void {
  const actor: Actor = { ...anonymous, kind: "system", organization_id, scopes: new Set(scopes) };
  const createContextFor = (request: FastifyRequest) => createRequestContext(deps, request, actor);
  app.addHook("onRequest", async (request) => {
    if (!isFromHere(request)) throw notFound();
  });
  app.get("/demo/products.json", async (request) => {
    const query = { page: 1, limit: demoProductsMax, is_archived: false, sorting: ["-created_at" as const] };
    const { items } = await provider.products.list(createContextFor(request), { query });
    return items
      .filter((product) => !product.is_recurring)
      .map(({ id, name, description, prices }) => ({
        id,
        name,
        description,
        price_label: prices.map(formatPriceLabel).join(" + "),
      }));
  });
  app.post("/demo/checkout", async (request, reply) => {
    const body = DemoCheckout.safeParse(request.body);
    if (!body.success)
      throw new ApiError("RequestValidationError", readFaults(["body"], body.error.issues, request.body));
    const { product_id, embed_origin } = body.data;
    const checkout = await provider.checkouts.create(createContextFor(request), {
      body: CheckoutCreate.parse({ products: [product_id], embed_origin: embed_origin ?? deps.config.url }),
    });
    return reply.code(201).send({ url: checkout.url });
  });
  app.get("/mail/messages.json", () => listMails(deps));
}

type Price = Awaited<ReturnType<Provider["products"]["list"]>>["items"][number]["prices"][number];
function formatPriceLabel(price: Price): string {
  if (price.amount_type === "fixed")
    return price.price_amount === 0 ? "Free" : formatMoney(price.price_amount, price.price_currency);
  if (price.amount_type === "custom") return "Pay what you want";
  if (price.amount_type === "free") return "Free";
  return price.amount_type;
}
