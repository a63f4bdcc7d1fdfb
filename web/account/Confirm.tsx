import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { focusHeading } from "../router.tsx";

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

  /** Closed here, so that the focus goes back; its own word of it comes too late for somebody quick at the keys. */
  const leave = (): void => {
    dialog.current?.close();
    left();
    // Once what it ended is gone too: until then that may still hold the focus.
    requestAnimationFrame(() => setTimeout(focusHeading));
  };
  const confirmAction = async (): Promise<void> => {
    setBusy(true);
    const refused = await confirmed();
    setBusy(false);
    if (refused === undefined) leave();
    else setFault(refused);
  };
  return (
    <dialog
      ref={dialog}
      className="question"
      aria-labelledby={id}
      onClose={left}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
    >
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children && <div className="soft">{children}</div>}
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={leave}>
            Cancel
          </Button>
          <Button danger busy={busy} onClick={() => void confirmAction()}>
            {action}
          </Button>
        </div>
      </div>
    </dialog>
  );
}
