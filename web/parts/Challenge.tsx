import { useEffect, useRef, useState } from "react";
import type { Failure } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { checkouts } from "../checkouts.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "./Button.tsx";
import { Notice } from "./Notice.tsx";

/** The bank's question that a test card with 3-D Secure brings up; a real processor asks it with a window of its own. */
export default function Challenge({
  intent_client_secret,
  answered,
}: {
  intent_client_secret: string;
  answered: () => void;
}) {
  const { messages } = useI18n();
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState<"approve" | "decline">();
  const [failure, setFailure] = useState<Failure>();

  useEffect(() => {
    const element = dialog.current;
    if (!element?.open) element?.showModal();
    return () => element?.close();
  }, []);

  const respond = async (approved: boolean): Promise<void> => {
    setBusy(approved ? "approve" : "decline");
    const result = await checkouts.authenticateTest(intent_client_secret, approved);
    setBusy(undefined);
    if (result.ok) answered();
    else setFailure(result.failure);
  };
  return (
    <dialog
      ref={dialog}
      className="question"
      aria-labelledby="challenge-title"
      // The bank's question needs an answer: Escape gives none.
      onCancel={(event) => event.preventDefault()}
      onClose={({ currentTarget }) => currentTarget.isConnected && currentTarget.showModal()}
    >
      <div className="stack">
        <h2 id="challenge-title">{messages.bank_asks}</h2>
        <p className="soft">{messages.bank_test}</p>
        {failure && <Notice tone="fault">{describeFailure(failure, messages)}</Notice>}
        <div className="row">
          <Button busy={busy === "approve"} onClick={() => void respond(true)}>
            {messages.approve}
          </Button>
          <Button quiet busy={busy === "decline"} onClick={() => void respond(false)}>
            {messages.decline}
          </Button>
        </div>
      </div>
    </dialog>
  );
}
