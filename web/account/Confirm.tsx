import { type ReactNode, useEffect, useId, useRef, useState } from "react";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";

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
    if (refused === undefined) left();
    else setFault(refused);
  };
  return (
    <dialog ref={dialog} className="question" aria-labelledby={id} onClose={left}>
      <div className="stack">
        <h2 id={id}>{title}</h2>
        {children && <div className="soft">{children}</div>}
        {fault && <Notice tone="fault">{fault}</Notice>}
        <div className="row">
          <Button quiet onClick={left}>
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
