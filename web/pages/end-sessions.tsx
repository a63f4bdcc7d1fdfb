import { useEffect, useRef, useState } from "react";
import { getSentence } from "../account/form.ts";
import { signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";

const readToken = (): string | null => new URLSearchParams(location.hash.slice(1)).get("token");

type State = "asking" | "ended" | "refused";
const texts: Record<State, { title: string; text: string }> = {
  asking: {
    title: "End all sessions",
    text: "You are signed out in every browser and on every device, and links that were mailed to you before stop working.",
  },
  ended: {
    title: "All sessions have ended",
    text: "Choose a new password now, so that nobody who knows the old one signs in again.",
  },
  refused: {
    title: "This link does not work",
    text: "It works once, for seven days. Choose a new password instead: this ends all sessions too.",
  },
};

/** Where the link of a security mail leads. It asks first: programs that follow the links of a mail press no button. */
export default function EndSessionsPage() {
  const [token] = useState(readToken);
  const [state, setState] = useState<State>(token ? "asking" : "refused");
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(state);
  useEffect(() => {
    if (shown.current !== state) heading.current?.focus();
    shown.current = state;
  }, [state]);

  const end = async (): Promise<void> => {
    setBusy(true);
    const answer = await signing.endSessions(token ?? "");
    setBusy(false);
    setFault(undefined);
    if (answer.ok) setState("ended");
    else if (answer.failure.error === "INVALID_TOKEN") setState("refused");
    else setFault(getSentence(answer.failure));
  };
  const { title, text } = texts[state];
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {fault && <Notice tone="fault">{fault}</Notice>}
        <p>{text}</p>
        {state === "asking" ? (
          <Button full busy={busy} onClick={() => void end()}>
            End all sessions
          </Button>
        ) : (
          <a className="button" href="/forgot-password">
            Choose a new password
          </a>
        )}
      </div>
    </Shell>
  );
}
