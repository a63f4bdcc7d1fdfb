import { useState } from "react";
import { logins, profile } from "../account/account-api.ts";
import { Confirm } from "../account/Confirm.tsx";
import { getSentence, useForm } from "../account/form.ts";
import { AccountPage, Section } from "../account/Layout.tsx";
import { PasswordManagerHint } from "../account/PasswordManagerHint.tsx";
import { useQuery } from "../account/use-query.ts";
import type { User } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";

const gone = "/sign-in?deleted=1";

function Delete({ user }: { user: User }) {
  const { value: accounts, fault } = useQuery(logins.list);
  const form = useForm({ password: "" });
  const [asking, setAsking] = useState(false);
  const [told, setTold] = useState<string>();
  const [refused, setRefused] = useState<string>();
  const hasPassword = accounts?.some(({ providerId }) => providerId === "credential");

  const remove = async (password?: string): Promise<string | undefined> => {
    const answer = await profile.remove({ callbackURL: gone, ...(password !== undefined && { password }) });
    setRefused(undefined);
    if (!answer.ok) {
      const { error } = answer.failure;
      // About the password: beside it. About the account: in full below the question.
      if (error === "INVALID_PASSWORD") form.set({ password: "" });
      setRefused(
        /^SESSION_(EXPIRED|IS_NOT_FRESH|NOT_FRESH)/.test(error)
          ? "You signed in too long ago for this. Sign out, sign in again, and come back."
          : getSentence(answer.failure),
      );
      return undefined;
    }
    if (answer.value.message === "Verification email sent") {
      setTold(`We sent a link to ${user.email}. Your account is deleted once you have followed it, in this browser.`);
      return undefined;
    }
    location.assign(gone);
    return new Promise(() => undefined);
  };
  const submit = form.submit(
    ({ password }) => ({ ...(password === "" && { password: "Enter your password." }) }),
    async () => {
      setAsking(true);
      return undefined;
    },
  );
  if (fault) return <Notice tone="fault">{fault}</Notice>;
  if (!accounts) return <GhostLine width="100%" height="12rem" />;
  return (
    <Section title="Delete your account">
      <p>
        Your name, your sign-ins, your keys and your memberships go at once, and so do organizations that nobody else is
        in. None of it can be brought back.
      </p>
      <p className="soft">
        It is refused while an organization that has other members, or has sold something, has no owner but you: first
        make another member its owner.
      </p>
      {refused && <Notice tone="fault">{refused}</Notice>}
      {told && <Notice tone="good">{told}</Notice>}
      {hasPassword && (
        <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
          <PasswordManagerHint email={user.email} />
          <Field
            label="Password"
            type="password"
            autoComplete="current-password"
            required
            {...form.field("password")}
          />
          <div className="row">
            <Button type="submit" danger busy={form.busy}>
              Delete the account
            </Button>
          </div>
        </form>
      )}
      {!user.isAnonymous && (
        <div>
          <Button quiet onClick={() => void remove()}>
            {hasPassword ? "Send me a link instead" : "Send me a link that deletes it"}
          </Button>
        </div>
      )}
      {asking && (
        <Confirm
          title="Delete your account?"
          action="Delete it"
          left={() => setAsking(false)}
          confirmed={() => remove(form.values.password)}
        >
          This cannot be taken back.
        </Confirm>
      )}
    </Section>
  );
}

/** Where the mail's link leads: it deletes nothing before the button is pressed. */
function DeleteByLink({ token }: { token: string }) {
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string>();
  const remove = async (): Promise<void> => {
    setBusy(true);
    const answer = await profile.removeByLink(token);
    setBusy(false);
    if (answer.ok) location.assign(gone);
    else
      setRefused(
        answer.failure.error === "INVALID_TOKEN"
          ? "This link does not work any more. Ask for a new one on the page of your account."
          : getSentence(answer.failure),
      );
  };
  return (
    <Section title="Delete your account">
      <p>
        Your name, your sign-ins, your keys and your memberships go at once, and so do organizations that nobody else is
        in. None of it can be brought back.
      </p>
      {refused && <Notice tone="fault">{refused}</Notice>}
      <div className="row">
        <Button danger busy={busy} onClick={() => void remove()}>
          Delete the account
        </Button>
      </div>
    </Section>
  );
}

/** The end of an account: at once with the password, or by a link in a mail. */
export default function AccountDeletePage() {
  const token = new URLSearchParams(location.search).get("token");
  return (
    <AccountPage title="Delete account">
      {({ user }) => (token === null ? <Delete user={user} /> : <DeleteByLink token={token} />)}
    </AccountPage>
  );
}
