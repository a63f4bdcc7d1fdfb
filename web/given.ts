import type { Checkout } from "./api.ts";

/** What the server wrote into the page, so that it need not be asked for: the checkout, and where its reader seems to be. */
type Given = { checkout: Checkout; country: string | null };

function readGiven(): Given | undefined {
  const text = document.getElementById("given")?.textContent;
  return text ? (JSON.parse(text) as Given) : undefined;
}

export const given: Given | undefined = readGiven();
