import { useState } from "react";
import { addNext, findAddressFault, findPasswordFault, useForm } from "../account/form.ts";
import { Link } from "../account/Link.tsx";
import { findOwnFaults, findOwnRefusal, OwnFields, readOwn, startOwn } from "../account/OwnFields.tsx";
import { SocialButtons } from "../account/SocialButtons.tsx";
import { resolveSafePath } from "../account/safe-path.ts";
import { useMethods } from "../account/use-methods.ts";
import { type Methods, signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import "../account.css";

/** Making an account. With `?next=` it goes on to that path of this site. */
export default function SignUpPage() {
  const methods = useMethods();
  return methods ? <SignUp methods={methods} /> : <Frame />;
}

function SignUp({ methods }: { methods: Methods }) {
  const next = new URLSearchParams(location.search).get("next");
  const target = resolveSafePath(next);
  const { fields } = methods;
  const form = useForm<{ name: string; email: string; password: string } & Record<string, string>>({
    name: "",
    email: "",
    password: "",
    ...startOwn(fields),
  });
  const [written, setWritten] = useState<string>();

  const submit = form.submit(
    ({ name, email, password, ...own }) => ({
      ...(name.trim() === "" && { name: "Enter your name." }),
      email: findAddressFault(email),
      password: findPasswordFault(password),
      ...findOwnFaults(fields, own),
    }),
    async ({ name, email, password, ...own }) => {
      const answer = await signing.up({
        ...readOwn(fields, own, { isNew: true }),
        name: name.trim(),
        email: email.trim(),
        password,
        callbackURL: addNext("/verify-email?done=1", target),
      });
      if (!answer.ok)
        return (
          findOwnRefusal(fields, answer.failure) ??
          form.faultsOf(answer.failure, [
            [/PASSWORD/, "password"],
            [/EMAIL|USER_ALREADY/, "email"],
            [/NAME/, "name"],
          ])
        );
      if (answer.value.token === null) {
        setWritten(email.trim());
        return undefined;
      }
      location.assign(target);
      return new Promise(() => undefined);
    },
  );
  const { password, providers } = methods.signUp;
  return (
    <Shell title="Sign up">
      {written ? (
        <div className="card stack">
          <h1>Look into your mail</h1>
          <Notice tone="good">We sent a message to {written}. Follow its link, then sign in.</Notice>
          <p className="small soft">
            Nothing there? It may be with the unwanted mail, or the address has an account already:{" "}
            <Link href={addNext("/sign-in", next)}>sign in</Link> or{" "}
            <Link href="/forgot-password?">choose a new password</Link>.
          </p>
        </div>
      ) : (
        <div className="card stack">
          <h1>Sign up</h1>
          {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
          {!password && !providers && <Notice>New accounts are made by an administrator here.</Notice>}
          {password && (
            <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
              <div className="fields">
                <Field label="Name" autoComplete="name" required {...form.field("name")} />
                <Field label="E-mail" type="email" autoComplete="username" required {...form.field("email")} />
                <Field
                  label="Password"
                  type="password"
                  autoComplete="new-password"
                  hint="At least 8 characters; a few words are best."
                  required
                  {...form.field("password")}
                />
                <OwnFields fields={fields} form={form} />
              </div>
              <Button type="submit" full busy={form.busy}>
                Make the account
              </Button>
            </form>
          )}
          {providers && <SocialButtons methods={{ ...methods, password }} next={target} guests={false} />}
          <p className="small soft">
            You have one? <Link href={addNext("/sign-in", next)}>Sign in</Link>
          </p>
        </div>
      )}
    </Shell>
  );
}
