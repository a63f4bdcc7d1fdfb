import type { Api } from "../shared/api/index.ts";
import type { Output } from "../shared/contract.ts";
import type { Checkout, Wire } from "./api.ts";
import type { Seller } from "./portal/calls.ts";

/** What the server wrote into a page, so that it need not be asked for. */
type Given = {
  /** Of a checkout's page: it, and where its reader seems to be. */
  sale?: { checkout: Checkout; country: string | null };
  /** Of a customer's own place: whose customer they are. */
  seller?: Seller;
  /** For a visitor: the sellers who show their products here. */
  storefront?: Wire<Output<Api["storefront"]["get"]>>;
};

function readGiven(): Given {
  const text = document.getElementById("given")?.textContent;
  if (!text) return {};
  const { seller, storefront, ...sale } = JSON.parse(text) as NonNullable<Given["sale"]> & Given;
  if (storefront) return { storefront };
  return seller ? { seller } : { sale };
}

export const { sale: given, seller: given_seller, storefront: given_storefront } = readGiven();
