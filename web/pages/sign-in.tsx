import { useEffect, useState } from "react";
import { addNext, type Faults, findAddressFault, getSentence, useForm } from "../account/form.ts";
import { Link } from "../account/Link.tsx";
import { SocialButtons } from "../account/SocialButtons.tsx";
import { isForDevice, resolveSafePath } from "../account/safe-path.ts";
import { useMethods } from "../account/use-methods.ts";
import { useStore } from "../account/use-store.ts";
import { type Methods, type Session, session, signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import "../account.css";

function SignedIn({ signed }: { signed: Session }) {
  const [busy, setBusy] = useState(false);
  return (
    <div className="card stack">
      <h1>You are signed in</h1>
      <p className="soft">
        As {signed.user.name}, {signed.user.email}.
      </p>
      <div className="row">
        <a className="button" href="/account">
          Go to your account
        </a>
        <Button
          quiet
          busy={busy}
          onClick={async () => {
            setBusy(true);
            // The session is asked for again by itself, and this becomes the form.
            await signing.out();
            setBusy(false);
          }}
        >
          Sign out
        </Button>
      </div>
    </div>
  );
}

/** Offers the link that confirms an address, where that is what stands in the way. */
function Unconfirmed({ email, next }: { email: string; next: string | null }) {
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<string>();
  const send = async (): Promise<void> => {
    setBusy(true);
    const answer = await signing.sendVerification(email, addNext("/verify-email?done=1", next));
    setBusy(false);
    setTold(answer.ok ? `We sent a link to ${email}. Follow it, then sign in.` : getSentence(answer.failure));
  };
  return (
    <Notice tone={told ? "note" : "fault"}>
      {told ?? "Your e-mail address is not confirmed yet. Follow the link in the mail that we sent you."}
      {!told && (
        <div>
          <Button quiet busy={busy} onClick={() => void send()}>
            Send it again
          </Button>
        </div>
      )}
    </Notice>
  );
}

type FormProps = { next: string | null; methods: Methods; left: () => void };

function SignInForm({ next, methods, left }: FormProps) {
  const form = useForm({ email: "", password: "" });
  const [remember, setRemember] = useState(true);
  const [unconfirmed, setUnconfirmed] = useState<string>();
  const target = resolveSafePath(next);

  const check = ({ email, password }: typeof form.values): Faults<typeof form.values> => {
    const isUsername = methods.username && !email.includes("@") && email.trim() !== "";
    return {
      ...(!isUsername &&
        findAddressFault(email) && {
          email: methods.username ? "Enter your e-mail address or username." : "Enter your e-mail address.",
        }),
      ...(password === "" && { password: "Enter your password." }),
    };
  };
  const submit = form.submit(check, async ({ email: given, password }) => {
    setUnconfirmed(undefined);
    const email = given.trim();
    const answer = email.includes("@")
      ? await signing.inByEmail({ email, password, rememberMe: remember })
      : await signing.inByUsername({ username: email, password, rememberMe: remember });
    if (answer.ok) {
      left();
      location.assign(target);
      // The form stays busy until the next page has come.
      return new Promise(() => undefined);
    }
    if (answer.failure.error === "EMAIL_NOT_VERIFIED" && email.includes("@")) {
      setUnconfirmed(email);
      return undefined;
    }
    return { form: getSentence(answer.failure) };
  });
  return (
    <div className="card stack">
      <h1>Sign in</h1>
      {isForDevice(target) && <p className="soft">To connect the terminal or device that shows you a code.</p>}
      {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
      {unconfirmed && <Unconfirmed key={unconfirmed} email={unconfirmed} next={next} />}
      {methods.password && (
        <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
          <div className="fields">
            <Field
              label={methods.username ? "E-mail or username" : "E-mail"}
              type={methods.username ? "text" : "email"}
              inputMode="email"
              autoComplete="username"
              autoCapitalize="none"
              spellCheck={false}
              required
              {...form.field("email")}
            />
            <Field
              label="Password"
              type="password"
              autoComplete="current-password"
              required
              {...form.field("password")}
            />
          </div>
          <div className="between">
            <label className="check">
              <input type="checkbox" checked={remember} onChange={({ target: { checked } }) => setRemember(checked)} />
              Keep me signed in
            </label>
            <Link href="/forgot-password?">Forgot it?</Link>
          </div>
          <Button type="submit" full busy={form.busy}>
            Sign in
          </Button>
        </form>
      )}
      <SocialButtons methods={methods} next={target} guests={!isForDevice(target)} />
      {(methods.signUp.password || methods.signUp.providers) && (
        <p className="small soft">
          No account yet? <Link href={addNext("/sign-up", next)}>Sign up</Link>
        </p>
      )}
    </div>
  );
}

/** Signing in, or who is signed in already. With `?next=` it goes on to that path of this site. */
export default function SignInPage() {
  const query = new URLSearchParams(location.search);
  const next = query.get("next");
  const { pending, value: signed } = useStore(session);
  const methods = useMethods();
  // A guest may want to become somebody, so is asked who.
  const known = signed !== null && !signed.user.isAnonymous;
  // Signing in leads on by itself, and shows the form until then.
  const [leaving, setLeaving] = useState(false);
  const onward = known && next !== null && !leaving;

  useEffect(() => {
    if (onward) location.replace(resolveSafePath(next));
  }, [onward, next]);

  if (pending || !methods || onward) return <Frame />;
  return (
    <Shell title="Sign in">
      <div className="stack">
        {query.has("deleted") && !known && <Notice tone="good">Your account is deleted.</Notice>}
        {known && !leaving ? (
          <SignedIn signed={signed} />
        ) : (
          <SignInForm next={next} methods={methods} left={() => setLeaving(true)} />
        )}
      </div>
    </Shell>
  );
}
