/** The seller's own script, used by our pages as sellers use it on theirs. */

type Theme = "light" | "dark";
type Overlay = EventTarget & { close: () => void };
type Seller = { EmbedCheckout: { create(url: string, options: { theme?: Theme }): Promise<Overlay> } };

declare global {
  interface Window {
    Floe?: Seller;
  }
}

/** Loads the script, once. */
export function loadSellerScript(): Promise<Seller> {
  if (window.Floe) return Promise.resolve(window.Floe);
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/embed.js";
    const handleFailure = (): void => reject(new Error("/embed.js could not be loaded."));
    script.onload = () => (window.Floe ? resolve(window.Floe) : handleFailure());
    script.onerror = handleFailure;
    document.head.append(script);
  });
}

/** Opens a checkout over this page. `loaded` is the overlay once the checkout is there; never, if it is closed before. */
export async function openOverlay(url: string, options: { theme?: Theme } = {}) {
  const { EmbedCheckout } = await loadSellerScript();
  return { url, loaded: EmbedCheckout.create(url, options) };
}
