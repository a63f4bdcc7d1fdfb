import { type ReactNode, useEffect } from "react";
import { useI18n } from "../i18n/i18n.tsx";

/** The sign of the house: three pieces of ice on the water. */
function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" fill="#0b2a35" />
      <path d="M5 19 13 7l4 6-3 6z" fill="#e9f6f7" />
      <path d="m15 19 6-9 6 9z" fill="#8fd6dd" />
      <path d="M5 21h22l-5 4H9z" fill="#2f8c99" />
    </svg>
  );
}

/** Names the browser's tab for as long as the page is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title;
  }, [title]);
}

type Props = {
  title: string;
  wide?: boolean;
  /** Stands at the end of the header. */
  aside?: ReactNode;
  children: ReactNode;
};

/** The page around everything but the checkout. */
export function Shell({ title, wide = false, aside, children }: Props) {
  useTitle(`${title} · floe`);
  return (
    <div className={wide ? "shell wide" : "shell"}>
      <header>
        <a className="mark" href="/">
          <Mark /> floe
        </a>
        {aside}
      </header>
      <main>{children}</main>
      <footer>
        <span>{useI18n().messages.powered}</span>
      </footer>
    </div>
  );
}

/** What stands while a page is on its way: the ground, and for longer waits a word. */
export function Frame() {
  return (
    <div className="shell" aria-busy="true">
      <span className="hidden" role="status">
        Loading…
      </span>
    </div>
  );
}
