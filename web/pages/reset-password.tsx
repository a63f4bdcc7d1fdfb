import { useEffect, useRef, useState } from "react";
import { findPasswordFault, getSentence, useForm } from "../account/form.ts";
import { Link } from "../account/Link.tsx";
import { signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Shell } from "../parts/Shell.tsx";

/** Where the mail's link leads: with `?token=` a new password is chosen, with `?error=` the link is no longer good. */
export default function ResetPasswordPage() {
  const query = new URLSearchParams(location.search);
  const [token] = useState(query.get("token"));
  const [useless, setUseless] = useState(token === null);
  const [done, setDone] = useState(false);
  const form = useForm({ password: "" });
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    if (done || useless) heading.current?.focus();
  }, [done, useless]);

  const submit = form.submit(
    ({ password }) => ({ password: findPasswordFault(password) }),
    async ({ password }) => {
      const answer = await signing.reset(token ?? "", password);
      if (answer.ok) {
        setDone(true);
        return undefined;
      }
      if (answer.failure.error !== "INVALID_TOKEN") return { password: getSentence(answer.failure) };
      setUseless(true);
      return undefined;
    },
  );
  if (done || useless) {
    return (
      <Shell title={done ? "Password changed" : "Link no longer good"}>
        <div className="card stack">
          <h1 ref={heading} tabIndex={-1}>
            {done ? "Your password is changed" : "This link is no longer good"}
          </h1>
          {done ? (
            <Notice tone="good">Wherever you were signed in, you are signed out. Sign in with the new one.</Notice>
          ) : (
            <p className="soft">It works for one hour, and once. Ask for a new one.</p>
          )}
          <Link className="button" href={done ? "/sign-in?" : "/forgot-password?"}>
            {done ? "Sign in" : "Send a new link"}
          </Link>
        </div>
      </Shell>
    );
  }
  return (
    <Shell title="New password">
      <form ref={form.ref} className="card stack" noValidate onSubmit={(event) => void submit(event)}>
        <h1>Choose a new password</h1>
        <Field
          label="New password"
          type="password"
          autoComplete="new-password"
          hint="At least 8 characters; a few words are best."
          required
          {...form.field("password")}
        />
        <Button type="submit" full busy={form.busy}>
          Change the password
        </Button>
      </form>
    </Shell>
  );
}
