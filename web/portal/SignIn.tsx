import { type FormEvent, useState } from "react";
import { computeAccent } from "../accent.ts";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { entrance, type Seller } from "./calls.ts";
import { usePortalMessages } from "./messages.tsx";

const createRequestId = (): string =>
  [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");

/** Sign-in by a code that is sent by mail: first the address, then the code. */
export function SignIn({
  seller: { organization },
  given,
  notice,
  signedIn,
}: {
  seller: Seller;
  given: string;
  /** Why a code is needed, such as a session that has ended. */
  notice: string | undefined;
  signedIn: (token: string) => void;
}) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const [email, setEmail] = useState(given);
  // A code opens a session in the browser that asked for it alone.
  const [request_id] = useState(createRequestId);
  const [sent, setSent] = useState(false);
  const [code, setCode] = useState("");
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);

  const requestCode = async (): Promise<void> => {
    if (!/^[^\s@]+@[^\s@]+$/.test(email.trim())) return setFault(common.missing.email);
    const answer = await entrance.requestCode({ organization_id: organization.id, email: email.trim(), request_id });
    if (answer.ok) setSent(true);
    else setFault(describeFailure(answer.failure, common));
  };
  const enter = async (): Promise<void> => {
    if (code.trim() === "") return setFault(messages.code_missing);
    const answer = await entrance.authenticate({ code: code.trim(), request_id });
    if (answer.ok) signedIn(answer.value.token);
    else setFault(describeFailure(answer.failure, common));
  };
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (busy) return;
    setBusy(true);
    setFault(undefined);
    void (sent ? enter() : requestCode()).finally(() => setBusy(false));
  };
  return (
    <form className="card stack entrance" noValidate onSubmit={submit}>
      <h1>{messages.sign_in}</h1>
      {notice && <Notice>{notice}</Notice>}
      {sent ? (
        <>
          <Notice>{messages.code_sent(email.trim())}</Notice>
          <div className="code-entry">
            <Field
              key="code"
              label={messages.code}
              name="code"
              autoComplete="one-time-code"
              autoCapitalize="characters"
              spellCheck={false}
              maxLength={12}
              required
              autoFocus
              value={code}
              error={fault}
              onChange={({ target }) => setCode(target.value)}
            />
          </div>
        </>
      ) : (
        <>
          <p className="soft">{messages.sign_in_how}</p>
          <Field
            key="email"
            label={common.email}
            name="email"
            type="email"
            autoComplete="email"
            required
            value={email}
            error={fault}
            onChange={({ target }) => setEmail(target.value)}
          />
        </>
      )}
      <Button type="submit" full busy={busy} style={computeAccent(organization.branding.accent_color)}>
        {sent ? messages.go_in : messages.send_code}
      </Button>
      {sent && (
        <button
          type="button"
          className="plain"
          onClick={() => {
            setSent(false);
            setFault(undefined);
          }}
        >
          {messages.other_email}
        </button>
      )}
    </form>
  );
}
