import { type FormEvent, useEffect, useRef, useState } from "react";
import { accounts, type Failure } from "../api.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";
import { Link, safePath } from "../router.tsx";

type Values = { name: string; email: string; password: string };
type Faults = Partial<Record<keyof Values | "form", string>>;

/** The service names no field, only a sentence; where it speaks of one, it is shown there. */
function faultsOf({ detail }: Failure): Faults {
  if (/password/i.test(detail)) return { password: detail };
  if (/email|exists/i.test(detail)) return { email: detail };
  return { form: detail };
}

/** Making an account. With `?next=` it goes on to that path of this site. */
export default function SignUpPage() {
  const next = new URLSearchParams(location.search).get("next");
  const [values, setValues] = useState<Values>({ name: "", email: "", password: "" });
  const [faults, setFaults] = useState<Faults>({});
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);

  useEffect(() => {
    if (Object.keys(faults).length > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);

  const common = (name: keyof Values) => ({
    name,
    required: true,
    value: values[name],
    error: faults[name],
    onChange: ({ target }: { target: { value: string } }) =>
      setValues((before) => ({ ...before, [name]: target.value })),
  });
  const submit = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (busy) return;
    const found: Faults = {};
    if (values.name.trim() === "") found.name = "Enter your name.";
    if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(values.email.trim())) found.email = "Write it like name@example.com.";
    if (values.password === "") found.password = "Choose a password.";
    setFaults(found);
    if (Object.keys(found).length > 0) return;
    setBusy(true);
    const answer = await accounts.signUp({ ...values, name: values.name.trim(), email: values.email.trim() });
    setBusy(false);
    if (answer.ok) location.assign(safePath(next));
    else setFaults(faultsOf(answer.failure));
  };
  return (
    <Shell title="Sign up">
      <form ref={form} className="card stack" noValidate onSubmit={(event) => void submit(event)}>
        <h1>Sign up</h1>
        {faults.form && <Notice tone="fault">{faults.form}</Notice>}
        <div className="fields">
          <Field label="Name" {...common("name")} autoComplete="name" />
          <Field label="E-mail" type="email" {...common("email")} autoComplete="username" />
          <Field label="Password" type="password" {...common("password")} autoComplete="new-password" />
        </div>
        <Button type="submit" full busy={busy}>
          Make the account
        </Button>
        <p className="small soft">
          You have one? <Link href={`/sign-in${next ? `?next=${encodeURIComponent(next)}` : "?"}`}>Sign in</Link>
        </p>
      </form>
    </Shell>
  );
}
