import type { ButtonHTMLAttributes } from "react";

type Props = ButtonHTMLAttributes<HTMLButtonElement> & {
  busy?: boolean;
  quiet?: boolean;
  full?: boolean;
  danger?: boolean;
};

/** A button that keeps the focus while it is busy, and does nothing then. */
export function Button({
  busy = false,
  quiet = false,
  full = false,
  danger = false,
  children,
  onClick,
  type = "button",
  ...rest
}: Props) {
  return (
    <button
      {...rest}
      type={type}
      className={`button${quiet ? " quiet" : ""}${full ? " full" : ""}${danger ? " danger" : ""}`}
      aria-disabled={busy || undefined}
      aria-busy={busy || undefined}
      onClick={(event) => {
        if (busy) event.preventDefault();
        else onClick?.(event);
      }}
    >
      {busy && <span className="spinner" aria-hidden="true" />}
      {children}
    </button>
  );
}
