/** The seller's script: opens a checkout in an overlay on the seller's own page. */

type Options = { theme?: "light" | "dark"; onLoaded?: (event: CustomEvent) => void };
type Message = { type?: unknown; event: string; successURL: string; redirect: boolean };
type Frame = HTMLIFrameElement & { contentWindow: Window };

/** How long a page may take to load, and a loaded one to send a message. After that its link is opened, so that no sale is lost. */
const loadTimeoutMs = 15_000;
const messageTimeoutMs = 5000;

/** An overlay that is open, and the two ways to open one. Its events are `loaded`, `confirmed`, `success` and `close`. */
class EmbedCheckout extends EventTarget {
  /** Takes the overlay off the page, whatever state it is in. */
  declare close: () => void;

  constructor(url: string, theme = "light") {
    super();
    const page = document;
    const root = page.documentElement.style;
    const overflow = root.overflow;
    const opener = page.activeElement as HTMLElement | null;
    const target = new URL(url, location.href);
    const add = <E extends HTMLElement>(tag: string, css: string, parent: HTMLElement, text = ""): E => {
      const element = page.createElement(tag) as E;
      // Through the object model, because a page's content security policy may forbid style attributes.
      element.style.cssText = css;
      element.textContent = text;
      parent.append(element);
      return element;
    };
    const query = target.searchParams;
    query.set("embed", "true");
    query.set("embed_origin", location.origin);
    query.set("theme", theme);

    // A native modal dialog keeps the keyboard inside and makes the page behind it inert.
    const full = "inset:0;width:100%;height:100%;border:0;";
    const dialog = add<HTMLDialogElement>(
      "dialog",
      `${full}position:fixed;max-width:none;max-height:none;margin:0;padding:0;overflow:hidden;outline:0;border-radius:0;box-shadow:none;background:#06161ca8`,
      page.body,
    );
    dialog.setAttribute("role", "dialog");
    dialog.ariaModal = "true";
    dialog.ariaLabel = "Checkout";
    const loader = add<HTMLElement>(
      "p",
      "position:absolute;inset:45% 0 auto;margin:0;text-align:center;font:16px system-ui;color:#fff",
      dialog,
      "Loading checkout…",
    );
    loader.role = "status";
    if (!matchMedia("(prefers-reduced-motion:reduce)").matches) {
      loader.animate({ opacity: [1, 0.35, 1] }, { duration: 1600, iterations: 1 / 0 });
    }
    const frame = add<Frame>("iframe", `${full}position:absolute;color-scheme:normal`, dialog);
    frame.title = "Checkout";
    frame.allow = "payment";
    frame.src = target.href;
    // Only until the checkout brings its own: a page that never loads must not trap anyone.
    const quit = add<HTMLElement>(
      "button",
      "position:absolute;top:12px;right:12px;width:44px;height:44px;border:0;border-radius:50%;font:24px system-ui;color:#fff;background:#0d2f3a",
      dialog,
      "×",
    );
    quit.ariaLabel = "Close";
    quit.autofocus = true;

    let closable = true;
    const emitChange = (detail: Message): void => {
      const event = detail.event;
      if (!this.dispatchEvent(new CustomEvent(event, { detail, cancelable: true }))) return;
      if (event === "loaded") {
        clearTimeout(timer);
        frame.onload = null;
        closable = true;
        if (loader.isConnected) {
          loader.remove();
          quit.remove();
          frame.focus();
        }
      } else if (event === "confirmed") closable = false;
      else if (event === "close") closable && this.close();
      else if (event === "success") {
        closable = true;
        if (detail.redirect && /^https?:/.test(detail.successURL)) location.href = detail.successURL;
      }
    };
    const listen = ({ data, origin, source }: MessageEvent<Message | null>): void => {
      if (source === frame.contentWindow && origin === target.origin && data?.type === "POLAR_CHECKOUT")
        emitChange(data);
    };
    const leave = (): void => {
      if (closable) emitChange({ event: "close" } as Message);
    };
    let timer: ReturnType<typeof setTimeout>;
    const openLinkAfter = (ms: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        console.warn(
          `floe: this checkout sent no message, so its link is opened instead. Was it created with embed_origin "${location.origin}" (--embed-origin)?`,
        );
        this.close();
        location.href = url;
      }, ms);
    };
    openLinkAfter(loadTimeoutMs);
    frame.onload = () => openLinkAfter(messageTimeoutMs);
    this.close = () => {
      clearTimeout(timer);
      removeEventListener("message", listen);
      if (!dialog.isConnected) return;
      dialog.onclose = null;
      dialog.remove();
      root.overflow = overflow;
      opener?.focus();
    };
    quit.onclick = leave;
    dialog.oncancel = (event) => {
      event.preventDefault();
      leave();
    };
    // A second Escape closes a dialog without asking; where it may not be closed, it opens again.
    dialog.onclose = () => {
      leave();
      if (dialog.isConnected) dialog.showModal();
    };
    addEventListener("message", listen);
    root.overflow = "hidden";
    dialog.showModal();
  }

  /** Opens `url` in an overlay; resolves once the checkout has loaded. */
  static create(url: string, options: Options = {}): Promise<EmbedCheckout> {
    return new Promise((resolve) => {
      const checkout = new EmbedCheckout(url, options.theme);
      checkout.addEventListener(
        "loaded",
        (event) => {
          options.onLoaded?.(event as CustomEvent);
          resolve(checkout);
        },
        { once: true },
      );
    });
  }

  /** Answers clicks on every link marked `data-floe-checkout` or `data-polar-checkout`, also on later ones. */
  static init(): void {
    document.addEventListener("click", handleClick);
  }
}

function handleClick(event: MouseEvent): void {
  if (event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  const name = ["data-floe-checkout", "data-polar-checkout"].find((key) =>
    (event.target as Element).closest(`[${key}]`),
  );
  if (!name) return;
  const link = (event.target as Element).closest(`[${name}]`) as Element;
  event.preventDefault();
  void EmbedCheckout.create(link.getAttribute("href") || (link.getAttribute(name) as string), {
    theme: (link.getAttribute(`${name}-theme`) as Options["theme"]) ?? undefined,
  });
}

const seller = window as { Floe?: object; Polar?: object };
seller.Floe = { ...seller.Floe, EmbedCheckout };
// Pages written for the peer's script keep working; where that script is on the page too, it stays in charge.
seller.Polar = { EmbedCheckout, ...seller.Polar };
EmbedCheckout.init();
