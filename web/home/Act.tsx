import { type ReactNode, useState } from "react";
import type { Result } from "../api.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Dialog } from "../portal/Part.tsx";
import { Command } from "./Command.tsx";
import { useHomeMessages } from "./messages.tsx";

type Props = {
  title: string;
  action: string;
  command: string;
  /** False while the form has a fault. */
  isReady?: boolean;
  /** Sends it. The key is the same for each attempt of this dialog, so that a second click changes nothing. */
  send: (idempotencyKey: string) => Promise<Result<unknown>>;
  onDone: () => void;
  onClose: () => void;
  children?: ReactNode;
};

/** Asks before something is changed, names the command that does the same, and says why it was refused. */
export function ActDialog({ title, action, command, isReady = true, send, onDone, onClose, children }: Props) {
  const messages = useHomeMessages();
  const { messages: common } = useI18n();
  const [key] = useState(() => crypto.randomUUID());
  const [busy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const submit = async (): Promise<void> => {
    setBusy(true);
    const answer = await send(key);
    setBusy(false);
    if (!answer.ok) return setRefusal(describeFailure(answer.failure, common));
    onDone();
    onClose();
  };
  return (
    <Dialog title={title} left={onClose}>
      <form
        className="stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          if (isReady && !busy) void submit();
        }}
      >
        {children}
        {refusal !== undefined && <Notice tone="fault">{refusal}</Notice>}
        <div className="row">
          <Button quiet onClick={onClose}>
            {messages.back}
          </Button>
          <Button type="submit" danger busy={busy}>
            {action}
          </Button>
        </div>
        <Command text={command} />
      </form>
    </Dialog>
  );
}
