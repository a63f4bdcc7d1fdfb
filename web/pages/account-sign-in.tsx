import { useState } from "react";
import { AsyncList } from "../account/AsyncList.tsx";
import { type Account, logins } from "../account/account-api.ts";
import { Confirm } from "../account/Confirm.tsx";
import { findPasswordFault, getSentence, useForm } from "../account/form.ts";
import { formatDay } from "../account/format.ts";
import { AccountPage, Section } from "../account/Layout.tsx";
import { PasswordManagerHint } from "../account/PasswordManagerHint.tsx";
import { useMethods } from "../account/use-methods.ts";
import { useQuery } from "../account/use-query.ts";
import { signing, type User } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";

function ChangePassword({ user }: { user: User }) {
  const form = useForm({ currentPassword: "", newPassword: "" });
  const [others, setOthers] = useState(true);
  const [done, setDone] = useState(false);
  const submit = form.submit(
    ({ currentPassword, newPassword }) => ({
      ...(currentPassword === "" && { currentPassword: "Enter the password that you have now." }),
      newPassword: findPasswordFault(newPassword),
    }),
    async (values) => {
      setDone(false);
      const answer = await logins.changePassword({ ...values, revokeOtherSessions: others });
      if (!answer.ok)
        return form.faultsOf(answer.failure, [
          [/^INVALID_PASSWORD$/, "currentPassword"],
          [/PASSWORD/, "newPassword"],
        ]);
      form.set({ currentPassword: "", newPassword: "" });
      setDone(true);
      return undefined;
    },
  );
  return (
    <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
      {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
      {done && <Notice tone="good">Your password is changed.</Notice>}
      <PasswordManagerHint email={user.email} />
      <div className="fields">
        <Field
          label="Present password"
          type="password"
          autoComplete="current-password"
          required
          {...form.field("currentPassword")}
        />
        <Field
          label="New password"
          type="password"
          autoComplete="new-password"
          hint="At least 8 characters; a few words are best."
          required
          {...form.field("newPassword")}
        />
      </div>
      <label className="check">
        <input type="checkbox" checked={others} onChange={({ target: { checked } }) => setOthers(checked)} />
        Sign out everywhere else
      </label>
      <div>
        <Button type="submit" busy={form.busy}>
          Change the password
        </Button>
      </div>
    </form>
  );
}

/** Somebody who came by another service has no password; the mail that resets one also gives the first. */
function FirstPassword({ email }: { email: string }) {
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<string>();
  const send = async (): Promise<void> => {
    setBusy(true);
    const answer = await signing.requestReset(email);
    setBusy(false);
    setTold(answer.ok ? `We sent a link to ${email}.` : getSentence(answer.failure));
  };
  return (
    <>
      <p>You have none: you sign in with another service.</p>
      {told && <Notice>{told}</Notice>}
      <div>
        <Button quiet busy={busy} onClick={() => void send()}>
          Send me a link to choose one
        </Button>
      </div>
    </>
  );
}

function Linked({ accounts, reload, fault }: { accounts?: Account[]; reload: () => Promise<void>; fault?: string }) {
  const methods = useMethods();
  const [busy, setBusy] = useState<string>();
  const [refused, setRefused] = useState<string>();
  const [leaving, setLeaving] = useState<Account>();
  const getName = (id: string): string => methods?.providers.find((one) => one.id === id)?.name ?? id;
  const linked = accounts?.filter(({ providerId }) => providerId !== "credential");
  const free = methods?.providers.filter(({ id }) => !accounts?.some(({ providerId }) => providerId === id)) ?? [];
  const link = async (id: string): Promise<void> => {
    if (busy) return;
    setBusy(id);
    setRefused(undefined);
    const answer = await logins.link(id);
    if (answer.ok) return location.assign(answer.value.url);
    setBusy(undefined);
    setRefused(getSentence(answer.failure));
  };
  return (
    <Section title="Linked accounts">
      <AsyncList label="Linked accounts" value={linked} fault={fault} none="You sign in with nothing else yet.">
        {linked?.map((account) => (
          <li key={account.id}>
            <div>
              <strong>{getName(account.providerId)}</strong>
              <p className="soft small">Linked on {formatDay(account.createdAt)}</p>
            </div>
            <Button quiet aria-label={`Unlink ${getName(account.providerId)}`} onClick={() => setLeaving(account)}>
              Unlink
            </Button>
          </li>
        ))}
      </AsyncList>
      {refused && <Notice tone="fault">{refused}</Notice>}
      {accounts && free.length > 0 && (
        <div className="row">
          {free.map(({ id, name }) => (
            <Button key={id} quiet busy={busy === id} onClick={() => void link(id)}>
              Link {name}
            </Button>
          ))}
        </div>
      )}
      {leaving && (
        <Confirm
          title={`Unlink ${getName(leaving.providerId)}?`}
          action="Unlink"
          left={() => setLeaving(undefined)}
          confirmed={async () => {
            const answer = await logins.unlink(leaving);
            if (!answer.ok) return getSentence(answer.failure);
            await reload();
            return undefined;
          }}
        >
          You can no longer sign in with it. It can be linked again.
        </Confirm>
      )}
    </Section>
  );
}

function Ways({ user }: { user: User }) {
  const { value: accounts, fault, reload } = useQuery(logins.list);
  const hasPassword = accounts?.some(({ providerId }) => providerId === "credential");
  return (
    <>
      {!user.isAnonymous && (
        <Section title="Password">
          {fault ? (
            <Notice tone="fault">{fault}</Notice>
          ) : hasPassword === false ? (
            <FirstPassword email={user.email} />
          ) : (
            <ChangePassword user={user} />
          )}
        </Section>
      )}
      <Linked {...(accounts && { accounts })} {...(fault && { fault })} reload={reload} />
    </>
  );
}

/** How one signs in: the password, and accounts with other services. */
export default function AccountSignInPage() {
  return <AccountPage title="Signing in">{({ user }) => <Ways user={user} />}</AccountPage>;
}
