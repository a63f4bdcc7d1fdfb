import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { accounts, type DeviceRequest, devices, type Session } from "../api.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";

const codeLength = 8;
/** A code as the service keeps it; people type it in lower case, with a dash or spaces. */
const plain = (code: string): string => code.replace(/[^a-z0-9]/gi, "").toUpperCase();
/** A code as people read it aloud. */
const spoken = (code: string): string => code.replace(/^(.{4})(.{1,4})$/, "$1-$2");

function CodeForm({ found, given }: { found: (request: DeviceRequest) => void; given: string }) {
  const [code, setCode] = useState(given);
  const [fault, setFault] = useState<string>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLFormElement>(null);

  useEffect(() => {
    if (fault) input.current?.querySelector("input")?.focus();
  }, [fault]);

  const look = useCallback(
    async (wanted: string): Promise<void> => {
      if (wanted.length !== codeLength) return setFault(`The code has ${codeLength} letters and digits.`);
      setBusy(true);
      const answer = await devices.find(wanted);
      setBusy(false);
      if (!answer.ok)
        return setFault(
          answer.failure.status === 0 ? answer.failure.detail : "This code is not known, or its time is up.",
        );
      if (answer.value.status !== "pending") return setFault("This code was used already. Ask for a new one.");
      found(answer.value);
    },
    [found],
  );
  // A code in the address was not typed here, so it is still shown and asked about before anything is approved.
  const first = useRef(given);
  useEffect(() => {
    if (first.current) void look(plain(first.current));
    first.current = "";
  }, [look]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!busy) void look(plain(code));
  };
  return (
    <form ref={input} className="card stack" noValidate onSubmit={submit}>
      <h1>Connect a device</h1>
      <p className="soft">Enter the code that your terminal shows.</p>
      <div className="code-entry">
        <Field
          label="Code"
          name="user_code"
          autoComplete="off"
          autoCapitalize="characters"
          spellCheck={false}
          required
          value={code}
          error={fault}
          onChange={({ target }) => {
            setFault(undefined);
            setCode(spoken(plain(target.value).slice(0, codeLength)));
          }}
        />
      </div>
      <Button type="submit" full busy={busy}>
        Continue
      </Button>
    </form>
  );
}

type Outcome = "approved" | "denied";

function Question({
  request,
  session,
  done,
}: {
  request: DeviceRequest;
  session: Session;
  done: (outcome: Outcome) => void;
}) {
  const [busy, setBusy] = useState<Outcome>();
  const [fault, setFault] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []);

  const answer = async (outcome: Outcome): Promise<void> => {
    if (busy) return;
    setBusy(outcome);
    const result = await (outcome === "approved"
      ? devices.approve(request.user_code)
      : devices.deny(request.user_code));
    setBusy(undefined);
    if (result.ok) done(outcome);
    else setFault(result.failure.detail);
  };
  const scopes = (request.scope ?? "").split(/\s+/).filter((scope) => scope !== "");
  return (
    <div className="card stack">
      <h1 ref={heading} tabIndex={-1}>
        {request.client_name ?? request.client_id ?? "A device"} wants to sign in as you
      </h1>
      <dl className="facts">
        <div>
          <dt className="soft">Code</dt>
          <dd>
            <code>{spoken(plain(request.user_code))}</code>
          </dd>
        </div>
        <div>
          <dt className="soft">Your account</dt>
          <dd>{session.user.email}</dd>
        </div>
        {scopes.length > 0 && (
          <div>
            <dt className="soft">It asks for</dt>
            <dd>{scopes.join(", ")}</dd>
          </div>
        )}
      </dl>
      <p className="soft">Approve only if the same code stands in your own terminal, and you asked for it just now.</p>
      {fault && <Notice tone="fault">{fault}</Notice>}
      <div className="row">
        <Button busy={busy === "approved"} onClick={() => void answer("approved")}>
          Approve
        </Button>
        <Button quiet busy={busy === "denied"} onClick={() => void answer("denied")}>
          Deny
        </Button>
      </div>
    </div>
  );
}

/** Where a terminal sends its user to be signed in: enter or confirm the code, then approve or deny. */
export default function DevicePage() {
  const given = plain(new URLSearchParams(location.search).get("user_code") ?? "").slice(0, codeLength);
  const [session, setSession] = useState<Session>();
  const [request, setRequest] = useState<DeviceRequest>();
  const [outcome, setOutcome] = useState<Outcome>();

  useEffect(() => {
    void accounts.session().then((answer) => {
      if (answer.ok && answer.value) setSession(answer.value);
      else location.replace(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
    });
  }, []);

  if (!session) return <Frame />;
  return (
    <Shell title="Connect a device">
      {outcome ? (
        <div className="card stack">
          <h1>{outcome === "approved" ? "Device connected" : "Request denied"}</h1>
          <Notice tone={outcome === "approved" ? "good" : "note"}>
            {outcome === "approved"
              ? "Your terminal is signed in. You can close this page."
              : "Nothing was given access. You can close this page."}
          </Notice>
        </div>
      ) : request ? (
        <Question request={request} session={session} done={setOutcome} />
      ) : (
        <CodeForm given={spoken(given)} found={setRequest} />
      )}
    </Shell>
  );
}
