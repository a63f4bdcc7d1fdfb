import { useEffect, useRef, useState } from "react";
import type { FailureMessages } from "../../shared/messages/en/failure.ts";
import type { Checkout } from "../api.ts";
import { checkouts } from "../checkouts.ts";
import { language } from "../i18n/language.ts";
import { Button } from "../parts/Button.tsx";
import { Shell } from "../parts/Shell.tsx";

/** All languages are part of this file: where it is needed, perhaps no other file can be loaded. */
const files = import.meta.glob<{ messages: FailureMessages }>("../../shared/messages/*/failure.ts", { eager: true });

/** The texts in the language of the page that failed; where that one had no time to set its own, in the browser's. */
function getMessages(): FailureMessages {
  const { lang } = document.documentElement;
  const codes = [lang === "en" ? "" : lang, language, "en"].map((name) => name.split("-")[0]);
  const [found] = codes.flatMap((code) => files[`../../shared/messages/${code}/failure.ts`] ?? []);
  if (!found) throw new Error("There are no texts for this page.");
  return found.messages;
}

const pollMs = 3000;
const triesMax = 100;

/** The checkout of the address, asked for until its payment has an outcome. */
function useSale(): Checkout | undefined {
  const [checkout, setCheckout] = useState<Checkout>();
  const secret = /^\/checkout\/([^/]+)/.exec(location.pathname)?.[1];
  useEffect(() => {
    if (!secret) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isGone = false;
    const refresh = async (tries: number): Promise<void> => {
      const answer = await checkouts.get(secret);
      if (isGone) return;
      if (answer.ok) setCheckout(answer.value);
      const isPending = answer.ok ? answer.value.status === "confirmed" : answer.failure.status === 0;
      if (isPending && tries < triesMax) timer = setTimeout(() => void refresh(tries + 1), pollMs);
    };
    void refresh(1);
    return () => {
      isGone = true;
      clearTimeout(timer);
    };
  }, [secret]);
  return checkout;
}

/** What the page says: of a checkout first of all what has become of the payment. */
function describe(status: Checkout["status"] | undefined, isOrdered: boolean, messages: FailureMessages) {
  if (status === "succeeded") return [messages.paid, messages.paid_how] as const;
  if (status === "confirmed" || (status === undefined && isOrdered))
    return [messages.pending, messages.pending_how] as const;
  return [messages.title, status === undefined ? messages.text : `${messages.not_charged} ${messages.text}`] as const;
}

/** Takes the place of a page that could not be loaded or drawn. `purchases` is where a buyer finds what was ordered here. */
export default function FailurePage({ purchases }: { purchases: string | undefined }) {
  const [messages] = useState(getMessages);
  const heading = useRef<HTMLHeadingElement>(null);
  const checkout = useSale();
  const [title, text] = describe(checkout?.status, purchases !== undefined, messages);
  const isPaid = checkout?.status === "succeeded";
  const href = purchases ?? (isPaid ? `/${encodeURIComponent(checkout.organization.slug)}/portal` : undefined);
  useEffect(() => heading.current?.focus(), []);
  return (
    <Shell title={title}>
      <div className="card stack">
        <div className="stack" role="status">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          <p className="soft">{text}</p>
        </div>
        {href && (
          // The portal opens in no frame.
          <a className="button" href={href} target={window.parent === window ? undefined : "_blank"} rel="noopener">
            {messages.purchases}
          </a>
        )}
        <Button quiet={href !== undefined} onClick={() => location.reload()}>
          {messages.reload}
        </Button>
      </div>
    </Shell>
  );
}
