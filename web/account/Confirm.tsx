import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { catchFocus } from "../router.tsx";

type Props = {
  title: string;
  action: string;
  /** Does it; answers why it could not be done. */
  confirmed: () => Promise<string | undefined>;
  left: () => void;
  children?: ReactNode;
};

/** Asks before something that cannot be taken back. A native dialog keeps the keyboard inside and gives the focus back. */
export function Confirm({ title, action, confirmed, left, children }: Props) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const id = useId();
  useEffect(() => {
    const element = dialog.current;
    if (!element?.open) element?.showModal();
    return () => element?.close();
  }, []);

  const go = async (): Promise<void> => {
    setBusy(true);
    const refused = await confirmed();
    setBusy(false);
    if (refused === undefined) dialog.current?.close();
    else setFault(refused);
  };
  return (
    <dialog
      ref={dialog}
      className="question"
      aria-labelledby={id}
      onClose={() => {
        left();
        // Once it is gone: until then it may still hold the focus itself.
        setTimeout(catchFocus);
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children && <div className="soft">{children}</div>}
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={() => dialog.current?.close()}>
            Cancel
          </Button>
          <Button danger busy={busy} onClick={() => void go()}>
            {action}
          </Button>
        </div>
      </div>
    </dialog>
  );
}
