import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { loadFailurePage } from "./parts/Boundary.tsx";
import { type Route, Router, startRouter } from "./router.tsx";
import { given, given_storefront } from "./server-data.ts";
import "./theme.css";

/** A page with the words of the checkout that came with it, so that it is drawn but once. */
async function loadWithMessages<T>(page: Promise<T>): Promise<T> {
  if (given) await (await import("./i18n/i18n.tsx")).loadI18n(given.checkout.locale);
  return page;
}

const routes: Route[] = [
  { path: "/checkout/:client_secret", load: () => loadWithMessages(import("./pages/checkout.tsx")) },
  { path: "/checkout/:client_secret/confirmation", load: () => loadWithMessages(import("./pages/confirmation.tsx")) },
  { path: "/card/:token", load: () => import("./pages/card.tsx") },
  { path: "/buy/:client_secret", load: () => import("./pages/buy.tsx") },
  { path: "/sign-in", load: () => import("./pages/sign-in.tsx") },
  { path: "/sign-up", load: () => import("./pages/sign-up.tsx") },
  { path: "/verify-email", load: () => import("./pages/verify-email.tsx") },
  { path: "/end-sessions", load: () => import("./pages/end-sessions.tsx") },
  { path: "/forgot-password", load: () => import("./pages/forgot-password.tsx") },
  { path: "/reset-password", load: () => import("./pages/reset-password.tsx") },
  { path: "/accept-invitation", load: () => import("./pages/accept-invitation.tsx") },
  { path: "/account", load: () => import("./pages/account.tsx") },
  { path: "/account/sign-in", load: () => import("./pages/account-sign-in.tsx") },
  { path: "/account/sessions", load: () => import("./pages/account-sessions.tsx") },
  { path: "/account/keys", load: () => import("./pages/account-keys.tsx") },
  { path: "/account/delete", load: () => import("./pages/account-delete.tsx") },
  { path: "/device", load: () => import("./pages/device.tsx") },
  { path: "/", load: () => (given_storefront ? import("./pages/storefront.tsx") : import("./pages/home.tsx")) },
  { path: "/store/customers/:id", load: () => import("./pages/home-customer.tsx") },
  { path: "/store/orders/:id", load: () => import("./pages/home-order.tsx") },
  { path: "/store/products", load: () => import("./pages/home-products.tsx") },
  { path: "/metrics", load: () => import("./pages/metrics.tsx") },
  { path: "/demo", load: () => import("./pages/demo.tsx") },
  { path: "/mail", load: () => import("./pages/mail.tsx") },
  { path: "/error", load: () => import("./pages/error.tsx") },
  { path: "/:slug/portal", load: () => import("./pages/portal.tsx") },
  { path: "/:slug/portal/claim", load: () => import("./pages/portal-claim.tsx") },
  { path: "/:slug/portal/email", load: () => import("./pages/portal-email.tsx") },
  { path: "/:slug/cancel", load: () => import("./pages/cancel.tsx") },
  { path: "*", load: () => import("./pages/not-found.tsx") },
];

/** The page for failures is loaded only after what the reader waits for. */
const failureDelayMs = 2000;

const query = new URLSearchParams(location.search);
const theme = query.get("theme");
if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
if (query.get("embed") === "true" && window.parent !== window) document.documentElement.dataset.embed = "";
else delete document.documentElement.dataset.embed;

// Not awaited: the pages import this very file's chunk, and would wait for it in turn.
void startRouter(routes).then(() => {
  const root = document.getElementById("root");
  if (!root) return;
  createRoot(root).render(
    <StrictMode>
      <Router />
    </StrictMode>,
  );
  setTimeout(() => void loadFailurePage().catch(() => undefined), failureDelayMs);
});
