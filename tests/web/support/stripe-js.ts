/** Stands in for Stripe.js in the browser: what js.stripe.com and api.stripe.com would answer there, and nothing else of it. */
import type { BrowserContext } from "playwright-core";
import { testNumbers } from "../../../server/platform/processors/test-cards.ts";
import type { StripeStandIn } from "../../support/stripe-stand-in.ts";

/** The part of Stripe.js that a page uses, with its card fields in a frame of Stripe's own origin. */
const script = `(() => {
  const origin = "https://js.stripe.com";
  const calls = (window.stripeCalls = []);
  const frameOf = (path, title) => {
    const frame = document.createElement("iframe");
    Object.assign(frame, { src: origin + path, title });
    frame.style.width = "100%";
    return frame;
  };
  // A wallet, where the test says that the browser has one, and whose it is. Where it is held, the test says when it is there.
  const walletOf = (calls) => {
    const heard = {};
    const payer = window.stripeWallet;
    const button = document.createElement("button");
    Object.assign(button, { type: "button", textContent: "Test wallet" });
    button.style = "width: 100%; height: 48px";
    button.onclick = () => heard.click({
      reject: () => calls.push(["reject"]),
      resolve: () => heard.confirm({
        billingDetails: payer,
        paymentFailed: (why) => calls.push(["paymentFailed", why]),
      }),
    });
    return {
      mount(place) {
        const show = () => {
          if (payer) place.append(button);
          heard.ready({ availablePaymentMethods: payer ? { applePay: true } : undefined });
        };
        if (window.stripeHeld) window.stripeShow = show;
        else setTimeout(show);
      },
      destroy: () => button.remove(),
      on: (name, handler) => (heard[name] = handler),
    };
  };
  window.Stripe = (key) => ({
    elements(options) {
      const current = { ...options };
      calls.push(["elements", structuredClone(current)]);
      let frame;
      const ask = (message) => new Promise((resolve) => {
        const { port1, port2 } = new MessageChannel();
        port1.onmessage = ({ data }) => resolve(data);
        frame.contentWindow.postMessage(message, origin, [port2]);
      });
      return {
        create(type, more) {
          calls.push(["create", type, structuredClone(more)]);
          if (type === "expressCheckout") return walletOf(calls);
          frame = frameOf("/stand-in/card", "Secure payment input frame");
          return {
            mount: (place) => place.append(frame),
            destroy: () => frame.remove(),
            focus: () => void ask({ to: "focus" }),
            on: () => undefined,
          };
        },
        update(changed) {
          Object.assign(current, changed);
          calls.push(["update", structuredClone(changed)]);
        },
        submit: async () => frame ? ask({ to: "submit" }) : {},
        token: async (params) => frame
          ? ask({ to: "token", key, options: { ...current, appearance: null }, params })
          : (await fetch("https://api.stripe.com/v1/confirmation_tokens", {
              method: "POST",
              body: JSON.stringify({ key, options: { ...current, appearance: null }, wallet: true }),
            })).json(),
      };
    },
    createConfirmationToken: ({ elements, params }) => elements.token(params),
    handleNextAction: ({ clientSecret }) => new Promise((resolve) => {
      const frame = frameOf("/stand-in/challenge?secret=" + clientSecret, "Your bank");
      document.body.append(frame);
      addEventListener("message", ({ data, source }) => {
        if (source !== frame.contentWindow) return;
        frame.remove();
        resolve(data);
      });
    }),
  });
  window.Stripe.version = "endive";
})();`;

const cardFrame = `<!doctype html><html lang="en"><title>Card</title>
<label>Card number <input id="number" autocomplete="cc-number"></label><label>Expiry <input id="expiry"></label><label>CVC <input id="cvc"></label>
<script>
const value = (id) => document.getElementById(id).value;
addEventListener("message", async ({ data, ports: [port] }) => {
  if (data.to === "focus") return document.getElementById("number").focus();
  if (!value("number")) return port.postMessage({ error: { message: "Your card number is incomplete." } });
  if (data.to === "submit") return port.postMessage({});
  const card = { number: value("number"), expiry: value("expiry"), cvc: value("cvc") };
  const answer = await fetch("https://api.stripe.com/v1/confirmation_tokens", { method: "POST", body: JSON.stringify({ ...data, card }) });
  port.postMessage(await answer.json());
});
</script></html>`;

const challengeFrame = `<!doctype html><html lang="en"><title>Bank</title><button id="yes">Complete</button><button id="no">Fail</button>
<script>
const secret = new URLSearchParams(location.search).get("secret");
const answer = async (approved) => {
  await fetch("https://api.stripe.com/stand-in/authenticate", { method: "POST", body: JSON.stringify({ secret, approved }) });
  parent.postMessage(approved ? {} : { error: { message: "We are unable to authenticate your payment method." } }, "*");
};
document.getElementById("yes").onclick = () => answer(true);
document.getElementById("no").onclick = () => answer(false);
</script></html>`;

type Asked = {
  key: string;
  options: { mode: string; amount?: number; currency: string; setupFutureUsage: string | null };
  params: { payment_method_data: { billing_details: Record<string, unknown> } };
  card: { number: string; expiry: string; cvc: string };
  wallet?: true;
};
const fault = (message: string) => ({ error: { type: "validation_error", message } });

/** What Stripe makes of a card that was typed into its frame. */
function tokenize(standIn: StripeStandIn, { options, params, card, wallet }: Asked): object {
  if (wallet) {
    const kept = { brand: "visa", last4: "4242", exp_month: 12, exp_year: 2040 };
    const usage = options.mode === "setup" ? "off_session" : options.setupFutureUsage;
    return { confirmationToken: { id: standIn.tokenize({ card: kept, scenario: "success" }, usage) } };
  }
  const details = params.payment_method_data.billing_details;
  // Whoever hides these fields has to send them.
  for (const name of ["name", "email", "phone", "address"])
    if (details[name] === undefined || details[name] === null) return fault(`You must pass in ${name}.`);
  if (options.mode === "payment" && !(Number(options.amount) > 0)) return fault("The amount must be positive.");
  const number = card.number.replaceAll(" ", "");
  const known = testNumbers[number];
  if (!known) return fault("Your card number is invalid.");
  const kept = { brand: known.brand, last4: number.slice(-4), exp_month: 12, exp_year: 2040 };
  const usage = options.mode === "setup" ? "off_session" : options.setupFutureUsage;
  return { confirmationToken: { id: standIn.tokenize({ card: kept, scenario: known.scenario }, usage) } };
}

/** Answer what this browser asks of Stripe. `typed`: what its frames sent to Stripe; `down`: it cannot be reached. */
export async function serveStripeJs(context: BrowserContext, standIn: StripeStandIn) {
  const stripe = { typed: [] as string[], down: false };
  await context.route(/^https:\/\/(js|api)\.stripe\.com\//, async (route) => {
    const { pathname } = new URL(route.request().url());
    const sent = route.request().postData() ?? "";
    const html = (body: string) => route.fulfill({ contentType: "text/html", body });
    const json = (value: object) => route.fulfill({ json: value, headers: { "access-control-allow-origin": "*" } });
    if (stripe.down) return route.abort();
    if (pathname.endsWith("/stripe.js")) return route.fulfill({ contentType: "text/javascript", body: script });
    if (pathname === "/stand-in/card") return html(cardFrame);
    if (pathname === "/stand-in/challenge") return html(challengeFrame);
    if (pathname === "/v1/confirmation_tokens") {
      stripe.typed.push(sent);
      return json(tokenize(standIn, JSON.parse(sent) as Asked));
    }
    if (pathname === "/stand-in/authenticate") {
      const { secret, approved } = JSON.parse(sent) as { secret: string; approved: boolean };
      standIn.authenticate(secret, approved);
      return json({});
    }
    return route.abort();
  });
  return stripe;
}
