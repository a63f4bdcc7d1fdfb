import { useEffect, useState } from "react";
import { useHomeMessages } from "./messages.tsx";

const copiedMs = 2000;

/** Copies a text, and says so for two seconds. */
export function useCopy(): { isCopied: boolean; copy: (text: string) => void } {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setIsCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const copy = (text: string): void => {
    // Without permission nothing is copied, and the page does not say that it was.
    navigator.clipboard?.writeText(text).then(
      () => setIsCopied(true),
      () => setIsCopied(false),
    );
  };
  return { isCopied, copy };
}

/** The command that shows or does the same in a terminal; a click copies it. */
export function Command({ text }: { text: string }) {
  const messages = useHomeMessages();
  const { isCopied, copy } = useCopy();
  return (
    <div className="command">
      <code>{text}</code>
      <button type="button" className="plain" onClick={() => copy(text)}>
        {isCopied ? messages.copied : messages.copy}
        <span className="hidden"> {text}</span>
      </button>
      <span className="hidden" role="status">
        {isCopied ? messages.copied : ""}
      </span>
    </div>
  );
}
