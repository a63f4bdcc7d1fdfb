import { useEffect, useRef, useState } from "react";
import type { CheckoutOrder, Failure } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { checkouts } from "../checkouts.ts";
import { useConfirmationMessages } from "../confirmation/messages.tsx";
import { isEmbedded } from "../embed-messages.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./Button.tsx";
import { Notice } from "./Notice.tsx";

const againMs = 1000;
const triesMax = 60;
type Kind = "receipt" | "invoice";

/** Where a document is, once it is printed. */
async function waitFor(secret: string, kind: Kind, isWanted: () => boolean) {
  for (let tries = 1; ; tries += 1) {
    const answer = await checkouts.document(secret, kind);
    if (!answer.ok || answer.value !== null || tries === triesMax || !isWanted()) return answer;
    await new Promise((resolve) => setTimeout(resolve, againMs));
  }
}

/** What is kept of a sale: each is printed when it is asked for, and downloaded. */
export function Documents({ secret, order }: { secret: string; order: CheckoutOrder }) {
  const { messages: common } = useI18n();
  const messages = useConfirmationMessages();
  const [busy, setBusy] = useState<Kind>();
  const [failure, setFailure] = useState<Failure>();
  const here = useRef(true);
  useEffect(() => {
    here.current = true;
    return () => {
      here.current = false;
    };
  }, []);

  const download = async (kind: Kind): Promise<void> => {
    setBusy(kind);
    setFailure(undefined);
    const answer = await waitFor(secret, kind, () => here.current);
    if (!here.current) return;
    setBusy(undefined);
    if (!answer.ok) return setFailure(answer.failure);
    if (answer.value === null) return;
    // It is sent as an attachment, so this page stays. The page around a frame may forbid it to lead anywhere.
    const link = document.createElement("a");
    link.href = answer.value.url;
    link.rel = "noreferrer";
    if (isEmbedded()) link.target = "_blank";
    link.click();
  };
  const kinds: Kind[] = [
    ...(order.receipt_number === null ? [] : ["receipt" as const]),
    ...(order.is_invoice_available ? ["invoice" as const] : []),
  ];
  if (kinds.length === 0) return null;
  return (
    <>
      <div className="row">
        {kinds.map((kind) => (
          <Button key={kind} quiet busy={busy === kind} onClick={() => void download(kind)}>
            {messages[`get_${kind}`]}
          </Button>
        ))}
      </div>
      {failure && <Notice tone="fault">{describeFailure(failure, common)}</Notice>}
    </>
  );
}
