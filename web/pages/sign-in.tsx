import { type FormEvent, useEffect, useRef, useState } from "react";
import { accounts, type Session } from "../api.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import { Link, safePath } from "../router.tsx";

type Faults = { email?: string; password?: string; form?: string };

function SignedIn({ session, left }: { session: Session; left: () => void }) {
  const [busy, setBusy] = useState(false);
  return (
    <div className="card stack">
      <h1>You are signed in</h1>
      <p className="soft">
        As {session.user.name}, {session.user.email}.
      </p>
      <Button
        quiet
        busy={busy}
        onClick={async () => {
          setBusy(true);
          await accounts.signOut();
          left();
        }}
      >
        Sign out
      </Button>
    </div>
  );
}

function SignInForm({ next }: { next: string | null }) {
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [faults, setFaults] = useState<Faults>({});
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    if (Object.keys(faults).length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);

  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const found: Faults = {};
    if (!/^[^\s@]+@[^\s@]+$/.test(email.trim())) found.email = "Enter your e-mail address.";
    if (password === "") found.password = "Enter your password.";
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    const answer = await accounts.signIn({ email: email.trim(), password });
    setBusy(false);
    if (answer.ok) location.assign(safePath(next));
    else setFaults({ form: answer.failure.detail });
  };
  return (
    <form ref={form} className="card stack" noValidate onSubmit={(event) => void submit(event)}>
      <h1>Sign in</h1>
      {faults.form && <Notice tone="fault">{faults.form}</Notice>}
      <div className="fields">
        <Field
          label="E-mail"
          name="email"
          type="email"
          autoComplete="username"
          required
          value={email}
          error={faults.email}
          onChange={({ target }) => setEmail(target.value)}
        />
        <Field
          label="Password"
          name="password"
          type="password"
          autoComplete="current-password"
          required
          value={password}
          error={faults.password}
          onChange={({ target }) => setPassword(target.value)}
        />
      </div>
      <Button type="submit" full busy={busy}>
        Sign in
      </Button>
      <p className="small soft">
        No account yet? <Link href={`/sign-up${next ? `?next=${encodeURIComponent(next)}` : "?"}`}>Sign up</Link>
      </p>
    </form>
  );
}

/** Signing in, or who is signed in already. With `?next=` it goes on to that path of this site. */
export default function SignInPage() {
  const next = new URLSearchParams(location.search).get("next");
  const [session, setSession] = useState<Session | null>();

  useEffect(() => {
    void accounts.session().then((answer) => {
      const found = answer.ok ? answer.value : null;
      if (found && next) location.replace(safePath(next));
      else setSession(found);
    });
  }, [next]);

  if (session === undefined) return <Frame />;
  return (
    <Shell title="Sign in">
      {session ? <SignedIn session={session} left={() => setSession(null)} /> : <SignInForm next={next} />}
    </Shell>
  );
}
