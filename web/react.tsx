/** The overlay for sellers whose pages are made with React: a button that sells, and the call behind it. */
import type { ButtonHTMLAttributes, MouseEvent, ReactElement } from "react";

/** What the checkout tells of itself. A handler may prevent what would follow. */
export type CheckoutEvent = Event;
export type SuccessEvent = CustomEvent<{ event: "success"; successURL: string; redirect: boolean }>;

export type CheckoutOptions = {
  /** The colors of the checkout; light unless said. */
  theme?: "light" | "dark" | undefined;
  /** The checkout is there to be seen. */
  onLoaded?: ((event: CheckoutEvent) => void) | undefined;
  /** The buyer has confirmed, and the payment is under way. */
  onConfirmed?: ((event: CheckoutEvent) => void) | undefined;
  /** It is paid. Where `redirect` is true the page goes to `successURL` next, unless this prevents it. */
  onSuccess?: ((event: SuccessEvent) => void) | undefined;
  /** The buyer closes the checkout, unless this prevents it. */
  onClose?: ((event: CheckoutEvent) => void) | undefined;
};
/** A checkout that is open. */
export type CheckoutOverlay = EventTarget & { close(): void };

type Script = {
  EmbedCheckout: {
    create(
      url: string,
      options: { theme?: "light" | "dark"; onLoaded?: (event: CustomEvent) => void },
    ): Promise<CheckoutOverlay>;
  };
};

const scripts = new Map<string, Promise<Script>>();

/** The script of the server that a checkout is on, loaded when it is first needed. */
function loadScript(origin: string): Promise<Script> {
  const known = scripts.get(origin);
  if (known) return known;
  const loading = new Promise<Script>((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `${origin}/embed.js`;
    script.onload = () => {
      const { Floe } = window as { Floe?: Script };
      if (Floe) resolve({ EmbedCheckout: Floe.EmbedCheckout });
      else reject(new Error(`${script.src} is not floe's.`));
    };
    script.onerror = () => reject(new Error(`${script.src} could not be loaded.`));
    document.head.append(script);
  });
  scripts.set(origin, loading);
  // What failed is tried again by the next who asks.
  loading.catch(() => scripts.delete(origin));
  return loading;
}

/**
 * Opens a checkout over this page, by the `url` of the checkout or of a checkout link. Resolves once it is there to be seen;
 * rejects where the server cannot be reached.
 */
export async function openCheckout(url: string, options: CheckoutOptions = {}): Promise<CheckoutOverlay> {
  const { theme, onLoaded, onConfirmed, onSuccess, onClose } = options;
  const { EmbedCheckout } = await loadScript(new URL(url).origin);
  const overlay = await EmbedCheckout.create(url, {
    ...(theme && { theme }),
    ...(onLoaded && { onLoaded }),
  });
  if (onConfirmed) overlay.addEventListener("confirmed", onConfirmed);
  if (onSuccess) overlay.addEventListener("success", (event) => onSuccess(event as SuccessEvent));
  if (onClose) overlay.addEventListener("close", onClose);
  return overlay;
}

export type CheckoutButtonProps = CheckoutOptions &
  Omit<ButtonHTMLAttributes<HTMLButtonElement>, "type"> & {
    /** The address of the checkout or of a checkout link; or what asks your own server for one when it is pressed. */
    url: string | (() => string | Promise<string>);
    /** The checkout could not be opened. */
    onFailed?: ((error: unknown) => void) | undefined;
  };

/** A button that opens a checkout over the page. It looks as you say, and takes whatever a button takes. */
export function CheckoutButton({
  url,
  theme,
  onLoaded,
  onConfirmed,
  onSuccess,
  onClose,
  onFailed,
  onClick,
  children,
  ...button
}: CheckoutButtonProps): ReactElement {
  const open = async (event: MouseEvent<HTMLButtonElement>): Promise<void> => {
    onClick?.(event);
    if (event.defaultPrevented) return;
    try {
      const address = typeof url === "string" ? url : await url();
      await openCheckout(address, { theme, onLoaded, onConfirmed, onSuccess, onClose });
    } catch (error) {
      if (!onFailed) throw error;
      onFailed(error);
    }
  };
  return (
    <button {...button} type="button" onClick={(event) => void open(event)}>
      {children}
    </button>
  );
}
