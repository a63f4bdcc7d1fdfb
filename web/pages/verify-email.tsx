import { useEffect, useRef, useState } from "react";
import { addNext, findAddressFault, getSentence, useForm } from "../account/form.ts";
import { Link } from "../account/Link.tsx";
import { resolveSafePath } from "../account/safe-path.ts";
import { useStore } from "../account/use-store.ts";
import { session, signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";

type Ending = { title: string; text: string; again: boolean };
const endings: Record<string, Ending> = {
  token_expired: { title: "This link has expired", text: "It worked for one hour.", again: true },
  invalid_token: {
    title: "This link does not work",
    text: "It may be cut short. Open it again from the mail.",
    again: true,
  },
  user_not_found: { title: "There is no such account", text: "It may have been deleted since.", again: false },
  unauthorized: {
    title: "This link is for another account",
    text: "Sign out, or open it where you are signed in as the person it was sent to.",
    again: false,
  },
};
const unchangeable: Ending = {
  title: "This link does not work",
  text: "It may be cut short, or another account has the new address by now. Your address stays as it is.",
  again: false,
};
const otherwise: Ending = { title: "Confirm your address", text: "We send a link to it.", again: true };

function SendAgain({ next }: { next: string | null }) {
  const form = useForm({ email: "" });
  const [sent, setSent] = useState<string>();
  const submit = form.submit(
    ({ email }) => ({ email: findAddressFault(email) }),
    async ({ email }) => {
      const answer = await signing.sendVerification(email.trim(), addNext("/verify-email?done=1", next));
      if (!answer.ok) return { form: getSentence(answer.failure) };
      setSent(email.trim());
      return undefined;
    },
  );
  if (sent) return <Notice tone="good">If {sent} still waits to be confirmed, a new link is on its way there.</Notice>;
  return (
    <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
      {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
      <Field label="E-mail" type="email" autoComplete="username" required {...form.field("email")} />
      <Button type="submit" full busy={form.busy}>
        Send a new link
      </Button>
    </form>
  );
}

/** Where both links of a change of address lead: the one that agrees to it, and the one that proves the new address. */
function Changed({ address, next }: { address: string; next: string | null }) {
  const { pending, value: signed } = useStore(session);
  if (pending) return <Frame />;
  const changed = signed?.user.email.toLowerCase() === address.toLowerCase();
  const proven = changed && signed.user.emailVerified;
  const title = proven ? "Your address is confirmed" : changed ? "Your address is changed" : "One step is left";
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1>{title}</h1>
        <p>
          {proven
            ? `Your account has the address ${address}.`
            : `We sent a link to ${address}. Follow it too, to confirm that the address is yours.`}
        </p>
        <a className="button" href={resolveSafePath(next, "/account")}>
          Continue
        </a>
      </div>
    </Shell>
  );
}

/**
 * Where the mail's link leads once it was followed: `?done`, or `?error=` with the service's code. With `?token=` it
 * asks before it confirms, so that programs which follow the links of a mail confirm nothing.
 */
export default function VerifyEmailPage() {
  const query = new URLSearchParams(location.search);
  const change = query.get("change");
  return change !== null && !query.has("error") ? (
    <Changed address={change} next={query.get("next")} />
  ) : (
    <Verification query={query} />
  );
}

/** What a token of a mailed link says: whom it is for, and the address that it would give the account. Shown, never believed. */
function readToken(token: string | null): { email?: string; newAddress?: string } {
  try {
    const text = atob((token?.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const { email, updateTo } = JSON.parse(text) as { email?: unknown; updateTo?: unknown };
    return {
      ...(typeof email === "string" ? { email } : {}),
      ...(typeof updateTo === "string" ? { newAddress: updateTo } : {}),
    };
  } catch {
    return {};
  }
}

/** What confirming from a browser that has never entered the account does to those who have. */
function RevocationNotice({ email }: { email: string | undefined }) {
  const { pending, value: signed } = useStore(session);
  if (pending || signed?.user.email === email) return null;
  return (
    <p className="soft">
      You are not signed in to this account here. When you confirm, its password, sessions, linked services and personal
      API keys stop working, and you choose a new password. To keep them, open the link where you signed up.
    </p>
  );
}

/** After the earlier access was revoked: the way back in. Without a token nobody signs in with a password here. */
function RevokedAccess({ resetToken }: { resetToken: string | null }) {
  return (
    <>
      <p>Nobody who used this account before can sign in any more. Its organizations keep their members and keys.</p>
      {resetToken === null ? (
        <Link className="button" href="/sign-in?">
          Sign in
        </Link>
      ) : (
        <Link className="button" href={`/reset-password?token=${encodeURIComponent(resetToken)}`}>
          Choose a password
        </Link>
      )}
    </>
  );
}

function Verification({ query }: { query: URLSearchParams }) {
  const next = query.get("next");
  const [error, setError] = useState(query.get("error"));
  const [done, setDone] = useState(query.has("done") && error === null);
  const [busy, setBusy] = useState(false);
  const [fault, setFault] = useState<string>();
  const [resetToken, setResetToken] = useState<string | null>();
  const token = error === null ? query.get("token") : null;
  const heading = useRef<HTMLHeadingElement>(null);
  const shown = useRef(false);
  useEffect(() => {
    if (shown.current && (done || error)) heading.current?.focus();
    shown.current = true;
  }, [done, error]);

  const confirm = async (): Promise<void> => {
    setBusy(true);
    const answer = await signing.verify(token ?? "");
    setBusy(false);
    const callback = query.get("callbackURL");
    if (answer.ok && answer.value.resetToken !== undefined) setResetToken(answer.value.resetToken);
    else if (answer.ok && callback !== null) return location.assign(resolveSafePath(callback, "/account"));
    if (answer.ok) setDone(true);
    else if (Object.hasOwn(endings, answer.failure.error.toLowerCase())) setError(answer.failure.error.toLowerCase());
    else setFault(getSentence(answer.failure));
  };
  const { email, newAddress } = readToken(token);
  const changing = query.has("change") && error === "invalid_token";
  const ending = changing ? unchangeable : (Object.hasOwn(endings, error ?? "") && endings[error ?? ""]) || otherwise;
  const [asks, answered, action] =
    newAddress === undefined
      ? ["Confirm your address", "Your address is confirmed", "Confirm this address"]
      : ["Change your address", "Your address is changed", `Change it to ${newAddress}`];
  const title = done ? answered : token ? asks : ending.title;
  return (
    <Shell title={title}>
      <div className="card stack">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {fault && <Notice tone="fault">{fault}</Notice>}
        {resetToken !== undefined ? (
          <RevokedAccess resetToken={resetToken} />
        ) : done ? (
          <a className="button" href={resolveSafePath(next, "/account")}>
            Continue
          </a>
        ) : token ? (
          <>
            {newAddress === undefined && !query.has("known") && <RevocationNotice email={email} />}
            <Button full busy={busy} onClick={() => void confirm()}>
              {action}
            </Button>
          </>
        ) : (
          <>
            <p className="soft">{ending.text}</p>
            {ending.again && <SendAgain next={next} />}
          </>
        )}
      </div>
    </Shell>
  );
}
