import { useState } from "react";
import { profile } from "../account/account-api.ts";
import { encodeText, findAddressFault, getSentence, useForm } from "../account/form.ts";
import { AccountPage, Section } from "../account/Layout.tsx";
import { findOwnFaults, findOwnRefusal, OwnFields, readOwn, startOwn } from "../account/OwnFields.tsx";
import { useMethods } from "../account/use-methods.ts";
import { type OwnField, session, signing, type User } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";

function Profile({ user }: { user: User }) {
  const form = useForm({ name: user.name, username: user.username ?? "", image: user.image ?? "" });
  const [saved, setSaved] = useState(false);
  const submit = form.submit(
    ({ name, username, image }) => ({
      ...(name.trim() === "" && { name: "Enter your name." }),
      ...(username !== "" &&
        !/^[A-Za-z0-9_.]{3,30}$/.test(username) && {
          username: "3 to 30 letters, digits, dots and underscores.",
        }),
      ...(username === "" && user.username && { username: "It can be changed, but not taken away." }),
      ...(image.trim() !== "" && !/^https:\/\/\S+$/.test(image.trim()) && { image: "Begin with https://." }),
    }),
    async ({ name, username, image }) => {
      setSaved(false);
      const answer = await profile.update({
        name: name.trim(),
        image: image.trim() || null,
        ...(username !== (user.username ?? "") && { username }),
      });
      if (!answer.ok)
        return form.faultsOf(answer.failure, [
          [/USERNAME/, "username"],
          [/IMAGE/, "image"],
        ]);
      setSaved(true);
      return undefined;
    },
  );
  return (
    <Section title="About you">
      <div className="person">
        {user.image ? (
          <img className="face" src={user.image} alt="" />
        ) : (
          <span className="face" aria-hidden="true">
            {user.name.slice(0, 1).toUpperCase()}
          </span>
        )}
        <div>
          <strong>{user.name}</strong>
          <p className="soft small">{user.username ? `@${user.username}` : "No username yet"}</p>
        </div>
      </div>
      <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
        <div className="fields">
          <Field label="Name" autoComplete="name" required {...form.field("name")} />
          <Field
            label="Username"
            optional={!user.username}
            hint="To sign in with, in place of the e-mail address."
            autoComplete="username"
            autoCapitalize="none"
            spellCheck={false}
            {...form.field("username")}
          />
          <Field
            label="Picture"
            optional
            type="url"
            hint="The address of an image on the web."
            placeholder="https://"
            autoComplete="photo"
            {...form.field("image")}
          />
        </div>
        <Save busy={form.busy} saved={saved} />
      </form>
    </Section>
  );
}

/** The end of a form, and whether what stands in it is kept. */
function Save({ busy, saved }: { busy: boolean; saved: boolean }) {
  return (
    <div className="row">
      <Button type="submit" busy={busy}>
        Save
      </Button>
      <span role="status" className="soft small">
        {saved && !busy ? "Saved." : ""}
      </span>
    </div>
  );
}

/** What this server asks of people beside their name. */
function More({ user, fields }: { user: User; fields: OwnField[] }) {
  const form = useForm<Record<string, string>>(startOwn(fields, user));
  const [saved, setSaved] = useState(false);
  const submit = form.submit(
    (values) => findOwnFaults(fields, values),
    async (values) => {
      setSaved(false);
      const answer = await profile.update(readOwn(fields, values, { isNew: false }));
      if (!answer.ok) return findOwnRefusal(fields, answer.failure) ?? form.faultsOf(answer.failure, []);
      setSaved(true);
      return undefined;
    },
  );
  return (
    <Section title="More about you">
      <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
        <div className="fields">
          <OwnFields fields={fields} form={form} />
        </div>
        <Save busy={form.busy} saved={saved} />
      </form>
    </Section>
  );
}

function Address({ user }: { user: User }) {
  const form = useForm({ email: "" });
  const [told, setTold] = useState<string>();
  const [sending, setSending] = useState(false);
  const submit = form.submit(
    ({ email }) => ({ email: findAddressFault(email) }),
    async ({ email }) => {
      setTold(undefined);
      const newEmail = email.trim();
      // A confirmed address changes by one link, and is confirmed by another; both lead here.
      const landing = user.emailVerified ? `change=${encodeText(newEmail)}` : "done=1";
      const answer = await profile.changeEmail(newEmail, `/verify-email?${landing}&next=%2Faccount`);
      if (!answer.ok) return form.faultsOf(answer.failure, [[/EMAIL/, "email"]]);
      setTold(
        user.emailVerified
          ? `We sent a link to ${user.email}. The address changes once you have followed it.`
          : `We sent a link to ${newEmail}. Follow it to confirm that the address is yours.`,
      );
      form.set({ email: "" });
      // An address that was never confirmed changes at once.
      await session.refetch();
      return undefined;
    },
  );
  const sendAgain = async (): Promise<void> => {
    setSending(true);
    const answer = await signing.sendVerification(user.email, "/verify-email?done=1&next=%2Faccount");
    setSending(false);
    setTold(answer.ok ? `We sent a link to ${user.email}.` : getSentence(answer.failure));
  };
  return (
    <Section title="E-mail address">
      <div className="between">
        <p>
          {user.email}{" "}
          <span className={user.emailVerified ? "tag" : "tag off"}>
            {user.emailVerified ? "Confirmed" : "Not confirmed"}
          </span>
        </p>
        {!user.emailVerified && (
          <Button quiet busy={sending} onClick={() => void sendAgain()}>
            Send the link again
          </Button>
        )}
      </div>
      {told && <Notice>{told}</Notice>}
      <form ref={form.ref} className="stack" noValidate onSubmit={(event) => void submit(event)}>
        {form.faults.form && <Notice tone="fault">{form.faults.form}</Notice>}
        <Field
          label="New e-mail address"
          type="email"
          autoComplete="email"
          required
          hint={user.emailVerified ? "A link to your present address asks whether it was you." : undefined}
          {...form.field("email")}
        />
        <div>
          <Button type="submit" quiet busy={form.busy}>
            Change it
          </Button>
        </div>
      </form>
    </Section>
  );
}

/** Who one is: name, username, picture, e-mail address. */
export default function AccountProfilePage() {
  const fields = useMethods()?.fields ?? [];
  return (
    <AccountPage title="Profile">
      {({ user }) => (
        <>
          <Profile user={user} />
          {fields.length > 0 && <More user={user} fields={fields} />}
          {!user.isAnonymous && <Address user={user} />}
        </>
      )}
    </AccountPage>
  );
}
