import { useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Command } from "./Command.tsx";
import type { Order } from "./calls.ts";
import { useHome } from "./home-context.ts";
import { useHomeMessages } from "./messages.tsx";

/** Sends the mail of an order again, to the address that the customer has now. */
export function ResendMail({ order: { id, invoice_number } }: { order: Order }) {
  const messages = useHomeMessages();
  const { messages: common } = useI18n();
  const { calls } = useHome();
  const [busy, setBusy] = useState(false);
  const [result, setResult] = useState("");
  const resendMail = async (): Promise<void> => {
    setBusy(true);
    const answer = await calls.resendMail(id);
    setBusy(false);
    setResult(answer.ok ? messages.mail_resent(answer.value.email) : describeFailure(answer.failure, common));
  };
  return (
    <>
      <div className="row">
        <Button quiet busy={busy} onClick={() => void resendMail()}>
          {messages.resend_mail}
        </Button>
      </div>
      <p role="status" className="small">
        {result}
      </p>
      <Command text={`floe orders resend-mail ${invoice_number}`} />
    </>
  );
}
