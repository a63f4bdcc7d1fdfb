import { useState } from "react";
import { type Methods, signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { getSentence } from "./form.ts";

type Props = { methods: Methods; next: string; guests: boolean };

/** The ways of signing in that need no password of ours: other services, and being a guest. */
export function SocialButtons({ methods, next, guests }: Props) {
  const [busy, setBusy] = useState<string>();
  const [fault, setFault] = useState<string>();
  const { providers, anonymous } = methods;
  if (providers.length === 0 && !(anonymous && guests)) return null;

  const signInWith = async (id: string): Promise<void> => {
    if (busy) return;
    setBusy(id);
    setFault(undefined);
    const answer = id === "guest" ? await signing.inAsGuest() : await signing.inBySocial(id, next);
    if (!answer.ok) {
      setBusy(undefined);
      return setFault(getSentence(answer.failure));
    }
    // Stays busy: the next page is on its way.
    location.assign("url" in answer.value && answer.value.url ? answer.value.url : next);
  };
  return (
    <div className="stack">
      {methods.password && <div className="or">or</div>}
      {fault && <Notice tone="fault">{fault}</Notice>}
      <div className="ways">
        {providers.map(({ id, name }) => (
          <Button key={id} quiet full busy={busy === id} onClick={() => void signInWith(id)}>
            Continue with {name}
          </Button>
        ))}
        {anonymous && guests && (
          <Button quiet full busy={busy === "guest"} onClick={() => void signInWith("guest")}>
            Continue as a guest
          </Button>
        )}
      </div>
    </div>
  );
}
