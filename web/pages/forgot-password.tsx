import { useState } from "react";
import { findAddressFault, getSentence, useForm } from "../account/form.ts";
import { Link } from "../account/Link.tsx";
import { signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";

/** Asks for the link by which a new password is chosen. It answers the same whether there is such an account or not. */
export default function ForgotPasswordPage() {
  const form = useForm({ email: "" });
  const [sent, setSent] = useState<string>();
  const submit = form.submit(
    ({ email }) => ({ email: findAddressFault(email) }),
    async ({ email }) => {
      const answer = await signing.requestReset(email.trim());
      if (!answer.ok) return { form: getSentence(answer.failure) };
      setSent(email.trim());
      return undefined;
    },
  );
  return (
    <Shell title="Forgotten password">
      <form ref={form.ref} className="card stack" noValidate onSubmit={(event) => void submit(event)}>
        <h1>Choose a new password</h1>
        {sent ? (
          <Notice tone="good">
            If {sent} has an account, a link is on its way there. It works for one hour, and once.
          </Notice>
        ) : (
          <>
            <p className="soft">We send a link to the address of your account.</p>
            {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
            <Field label="E-mail" type="email" autoComplete="username" required {...form.field("email")} />
            <Button type="submit" full busy={form.busy}>
              Send the link
            </Button>
          </>
        )}
        <p className="small soft">
          <Link href="/sign-in?">Back to signing in</Link>
        </p>
      </form>
    </Shell>
  );
}
