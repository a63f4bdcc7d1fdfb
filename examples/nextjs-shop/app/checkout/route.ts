import { openPolar, readSetting } from "../../lib/floe.ts";

/** Create a checkout for a product, and send the browser to its page. */
export async function POST(request: Request): Promise<Response> {
  const product = (await request.formData()).get("product");
  if (typeof product !== "string" || product === "") return new Response("Name a product.", { status: 400 });
  const shop = readSetting("SHOP_URL");
  const checkout = await openPolar().checkouts.create({
    products: [product],
    success_url: `${shop}/thanks?checkout_id={CHECKOUT_ID}`,
    return_url: shop,
  });
  // 303: the browser opens the page of the checkout with GET.
  return Response.redirect(checkout.url, 303);
}
