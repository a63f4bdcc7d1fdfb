import { findWebPage } from "../shared/destinations.ts";
import type { Checkout } from "./api.ts";

/** What a checkout in a frame says to the page around it. The shape is the peer's, so that its script understands us. */
type Message =
  | { event: "loaded" | "close" | "confirmed" }
  | { event: "success"; successURL: string; redirect: boolean };

/** Whether this page stands in a seller's overlay. */
export const isEmbedded = (): boolean => document.documentElement.dataset.embed !== undefined;

/** The origin the seller named when the checkout was made. The address of this page says one too, but anyone can write that. */
const getAllowedOrigin = ({ embed_origin }: Pick<Checkout, "embed_origin">): string | undefined =>
  findWebPage(embed_origin)?.origin;

/** Tells the page around this one; false where there is none or the checkout names no origin for it. */
export function notifyParent(checkout: Pick<Checkout, "embed_origin">, message: Message): boolean {
  const origin = getAllowedOrigin(checkout);
  if (!isEmbedded() || origin === undefined) return false;
  window.parent.postMessage({ type: "POLAR_CHECKOUT", ...message }, origin);
  return true;
}

let announced = false;

/** Tells the page around this one, once, that there is a checkout to see; and where it stands, if it is being paid already. */
export function postMessage(checkout: Pick<Checkout, "embed_origin" | "status">): void {
  if (announced) return;
  announced = true;
  notifyParent(checkout, { event: "loaded" });
  if (checkout.status === "confirmed") notifyParent(checkout, { event: "confirmed" });
}
