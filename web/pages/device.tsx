import { type FormEvent, useCallback, useEffect, useRef, useState } from "react";
import { type DeviceRequest, devices } from "../account/device.ts";
import { getSentence } from "../account/form.ts";
import { formatMoment } from "../account/format.ts";
import { useStore } from "../account/use-store.ts";
import { session, type User } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Field } from "../parts/Field.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";
import "../device.css";

const codeLength = 8;
/** A code as the service keeps it; people type it in lower case, with a dash or spaces. */
const normalize = (code: string): string => code.replace(/[^a-z0-9]/gi, "").toUpperCase();
/** A code as people read it aloud. */
const formatCode = (code: string): string => code.replace(/^(.{4})(.{1,4})$/, "$1-$2");

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
          answer.failure.status === 400 ? "This code is not known, or its time is up." : getSentence(answer.failure),
        );
      if (answer.value.status !== "pending") return setFault("This code was used already. Ask for a new one.");
      found(answer.value);
    },
    [found],
  );
  // A code in the address was not typed here, so it is still shown and asked about before anything is approved.
  const first = useRef(given);
  useEffect(() => {
    if (first.current) void look(normalize(first.current));
    first.current = "";
  }, [look]);

  const submit = (event: FormEvent): void => {
    event.preventDefault();
    if (!busy) void look(normalize(code));
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
            setCode(formatCode(normalize(target.value).slice(0, codeLength)));
          }}
        />
      </div>
      <Button type="submit" full busy={busy}>
        Continue
      </Button>
    </form>
  );
}

type Outcome = "approved" | "denied" | "wrong_number" | "expired";

const places: Record<DeviceRequest["place"], string> = {
  this_computer: "this computer",
  same_address: "the same address as yours",
  same_network: "the same network as yours",
  another_address: "not your address",
  unknown: "not known",
};

/** Said first, and aloud, when whoever asks may sit elsewhere: codes are sent to people to be approved for others. */
function Warning({ request }: { request: DeviceRequest }) {
  return (
    <Notice tone="fault">
      {request.place === "unknown" ? (
        <strong>Nobody can say where this request comes from.</strong>
      ) : (
        <>
          <strong>This request does not come from where you are.</strong> It was made from {request.ip_address}.
        </>
      )}{" "}
      If somebody sent you this code or this link, deny it: approving it gives them your account.
    </Notice>
  );
}

function Facts({ request, user }: { request: DeviceRequest; user: User }) {
  const scopes = (request.scope ?? "").split(/\s+/).filter((scope) => scope !== "");
  const address = request.ip_address;
  return (
    <dl className="request">
      <div>
        <dt className="soft">Code</dt>
        <dd>
          <code>{formatCode(normalize(request.user_code))}</code>
        </dd>
      </div>
      <div>
        <dt className="soft">Your account</dt>
        <dd>{user.isAnonymous ? "A guest's, without an address" : user.email}</dd>
      </div>
      <div>
        <dt className="soft">Program</dt>
        <dd>{request.agent}</dd>
      </div>
      <div>
        <dt className="soft">Asked from</dt>
        <dd>
          {address && request.place !== "unknown" ? `${address}, ${places[request.place]}` : places[request.place]}
        </dd>
      </div>
      <div>
        <dt className="soft">Asked at</dt>
        <dd>{formatMoment(request.requested_at)}</dd>
      </div>
      <div>
        <dt className="soft">Access</dt>
        <dd>
          {scopes.length === 0 ? (
            "Everything that you may do, your account included"
          ) : (
            <ul>
              {scopes.map((scope) => (
                <li key={scope}>{scope}</li>
              ))}
            </ul>
          )}
        </dd>
      </div>
    </dl>
  );
}

type QuestionProps = { request: DeviceRequest; user: User; done: (outcome: Outcome) => void };

function Question({ request, user, done }: QuestionProps) {
  const [busy, setBusy] = useState<"approve" | "deny">();
  const [fault, setFault] = useState<string>();
  const [number, setNumber] = useState("");
  const [numberFault, setNumberFault] = useState<string>();
  const heading = useRef<HTMLHeadingElement>(null);
  const numberField = useRef<HTMLDivElement>(null);
  useEffect(() => heading.current?.focus(), []);
  useEffect(() => {
    if (numberFault) numberField.current?.querySelector("input")?.focus();
  }, [numberFault]);
  useEffect(() => {
    const timer = setTimeout(() => done("expired"), request.expires_in * 1000);
    return () => clearTimeout(timer);
  }, [request, done]);

  const asks = request.confirmation_required;
  const elsewhere = request.place === "another_address" || request.place === "unknown";
  const approve = async (): Promise<void> => {
    if (busy) return;
    // A wrong number denies the request for good, so an empty field is not sent.
    if (asks && number === "") return setNumberFault("Enter the number that your terminal shows.");
    setBusy("approve");
    const result = await devices.approve(request.user_code, asks ? number : undefined);
    setBusy(undefined);
    if (result.ok) done("approved");
    else if (asks && result.failure.error === "access_denied") done("wrong_number");
    else setFault(getSentence(result.failure));
  };
  const deny = async (): Promise<void> => {
    if (busy) return;
    setBusy("deny");
    const result = await devices.deny(request.user_code);
    setBusy(undefined);
    if (result.ok) done("denied");
    else setFault(getSentence(result.failure));
  };
  return (
    <form
      className="card stack"
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        void approve();
      }}
    >
      <h1 ref={heading} tabIndex={-1}>
        {request.client_name ?? request.client_id ?? "A device"} wants to sign in as you
      </h1>
      {elsewhere && <Warning request={request} />}
      <Facts request={request} user={user} />
      <p className="soft">Approve only if the same code stands in your own terminal, and you asked for it just now.</p>
      {asks && (
        <div ref={numberField}>
          <Field
            label="Number in your terminal"
            name="confirmation_number"
            inputMode="numeric"
            autoComplete="off"
            maxLength={3}
            required
            value={number}
            error={numberFault}
            hint="There is one try: a wrong number denies the request."
            onChange={({ target }) => {
              setNumberFault(undefined);
              setNumber(target.value.replace(/\D/g, ""));
            }}
          />
        </div>
      )}
      {fault && <Notice tone="fault">{fault}</Notice>}
      <div className="row">
        <Button type="submit" quiet={elsewhere} busy={busy === "approve"}>
          Approve
        </Button>
        <Button quiet={!elsewhere} busy={busy === "deny"} onClick={() => void deny()}>
          Deny
        </Button>
      </div>
    </form>
  );
}

const ends: Record<Outcome, { heading: string; tone: "good" | "note" | "fault"; text: string }> = {
  approved: {
    heading: "Device connected",
    tone: "good",
    text: "Your terminal is signed in. You can close this page.",
  },
  denied: { heading: "Request denied", tone: "note", text: "Nothing was given access. You can close this page." },
  wrong_number: {
    heading: "Request denied",
    tone: "fault",
    text: "That is not the number in your terminal, so nothing was given access. To try again, start anew there.",
  },
  expired: {
    heading: "The time is up",
    tone: "note",
    text: "The code was not answered in time. To try again, start anew in your terminal.",
  },
};

function End({ outcome }: { outcome: Outcome }) {
  const { heading, tone, text } = ends[outcome];
  const title = useRef<HTMLHeadingElement>(null);
  useEffect(() => title.current?.focus(), []);
  return (
    <div className="card stack">
      <h1 ref={title} tabIndex={-1}>
        {heading}
      </h1>
      <Notice tone={tone}>{text}</Notice>
      {outcome === "approved" && (
        <a href="/account/sessions" className="soft">
          See and disconnect your devices
        </a>
      )}
    </div>
  );
}

/** Where a terminal sends its user to be signed in: enter or confirm the code, then approve or deny. */
export default function DevicePage() {
  const [address] = useState(() => new URL(location.href));
  const given = normalize(address.searchParams.get("user_code") ?? "").slice(0, codeLength);
  const { pending, value, failure } = useStore(session);
  const [request, setRequest] = useState<DeviceRequest>();
  const [outcome, setOutcome] = useState<Outcome>();
  const out = !pending && value === null && (failure === null || failure.status === 401);

  useEffect(() => {
    if (out) location.replace(`/sign-in?next=${encodeURIComponent(address.pathname + address.search)}`);
  }, [out, address]);
  useEffect(() => {
    if (!value) return;
    // The code leaves the address, and with it the history and what the next page is told.
    const bare = new URL(location.href);
    bare.searchParams.delete("user_code");
    history.replaceState(history.state, "", bare);
  }, [value]);

  if (!value && !pending && !out && failure)
    return (
      <Shell title="Connect a device">
        <div className="card stack">
          <h1>Connect a device</h1>
          <Notice tone="fault">{getSentence(failure)}</Notice>
          <Button onClick={() => void session.refetch()}>Try again</Button>
        </div>
      </Shell>
    );
  if (!value) return <Frame />;
  return (
    <Shell title="Connect a device">
      {outcome ? (
        <End outcome={outcome} />
      ) : request ? (
        <Question request={request} user={value.user} done={setOutcome} />
      ) : (
        <CodeForm given={formatCode(given)} found={setRequest} />
      )}
    </Shell>
  );
}
