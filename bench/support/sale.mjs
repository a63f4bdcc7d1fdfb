/** A request to a server; what it answers as JSON, and an error where it refuses. */
export async function ask(url, method, path, body, token) {
  const answer = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(body ? { "content-type": "application/json" } : {}),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(json)}`);
  return json;
}

/** Sell a product by four requests: the seller opens a checkout, the buyer reads it, fills it in and pays. `step` is called after each. */
export async function sell({ url, key, product_id, email }, step = () => {}) {
  const { client_secret } = await ask(url, "POST", "/v1/checkouts/", { products: [product_id] }, key);
  step("create");
  const path = `/v1/checkouts/client/${client_secret}`;
  await ask(url, "GET", path);
  step("get");
  await ask(url, "PATCH", path, { customer_email: email, customer_billing_address: { country: "FR" } });
  step("update");
  await ask(url, "POST", `${path}/confirm`, { confirmation_token_id: "pm_card_visa" });
  step("confirm");
}
