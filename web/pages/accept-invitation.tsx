import { useCallback, useEffect, useState } from "react";
import { type Invitation, invitations } from "../account/account-api.ts";
import { addNext, getSentence } from "../account/form.ts";
import { formatMoment } from "../account/format.ts";
import { useStore } from "../account/use-store.ts";
import type { Failure } from "../api.ts";
import { type Session, session, signing } from "../auth-client.ts";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Frame, Shell } from "../parts/Shell.tsx";

function SignedOut() {
  const next = location.pathname + location.search;
  return (
    <div className="card stack">
      <h1>You are invited</h1>
      <p className="soft">Sign in, or make an account, with the e-mail address that the invitation was sent to.</p>
      <div className="row">
        <a className="button" href={addNext("/sign-up", next)}>
          Sign up
        </a>
        <a className="button quiet" href={addNext("/sign-in", next)}>
          Sign in
        </a>
      </div>
    </div>
  );
}

function Unconfirmed({ email }: { email: string }) {
  const [busy, setBusy] = useState(false);
  const [told, setTold] = useState<string>();
  const send = async (): Promise<void> => {
    setBusy(true);
    const next = location.pathname + location.search;
    const answer = await signing.sendVerification(email, addNext("/verify-email?done=1", next));
    setBusy(false);
    setTold(answer.ok ? `We sent a link to ${email}.` : getSentence(answer.failure));
  };
  return (
    <div className="card stack">
      <h1>Confirm your address first</h1>
      <p>
        We sent a link to {email}. Once you have followed it, this page shows who invites you. You need not come back to
        it: the link leads here.
      </p>
      {told && <Notice>{told}</Notice>}
      <div>
        <Button quiet busy={busy} onClick={() => void send()}>
          Send the link again
        </Button>
      </div>
    </div>
  );
}

function Refused({ failure, signed }: { failure: Failure; signed: Session }) {
  const [busy, setBusy] = useState(false);
  const { error } = failure;
  const switchAccount = async (): Promise<void> => {
    setBusy(true);
    await signing.out();
    location.reload();
  };
  if (/NOT_THE_RECIPIENT/.test(error)) {
    return (
      <div className="card stack">
        <h1>This invitation is for somebody else</h1>
        <p>
          You are signed in as {signed.user.isAnonymous ? "a guest" : signed.user.email}. Sign in with the address that
          it was sent to.
        </p>
        <div>
          <Button busy={busy} onClick={() => void switchAccount()}>
            Use another account
          </Button>
        </div>
      </div>
    );
  }
  const gone = /INVITATION_(NOT_FOUND|EXPIRED|NOT_PENDING)/.test(error);
  return (
    <div className="card stack">
      <h1>{gone ? "This invitation is no longer open" : "The invitation cannot be shown"}</h1>
      <p className="soft">
        {gone
          ? "It has expired, was withdrawn, or has been answered already. Ask for a new one if you still want to join."
          : getSentence(failure)}
      </p>
      <div className="row">
        <a className="button quiet" href="/account">
          Go to your account
        </a>
      </div>
    </div>
  );
}

function Question({ invitation, refused }: { invitation: Invitation; refused: (failure: Failure) => void }) {
  const [busy, setBusy] = useState<"accept" | "reject">();
  const [outcome, setOutcome] = useState<"accept" | "reject">();
  const { organizationName, inviterEmail, role, id, expiresAt } = invitation;
  const respond = async (how: "accept" | "reject"): Promise<void> => {
    if (busy) return;
    setBusy(how);
    const result = await invitations[how](id);
    setBusy(undefined);
    if (result.ok) setOutcome(how);
    else refused(result.failure);
  };
  if (outcome) {
    return (
      <div className="card stack">
        <h1>{outcome === "accept" ? `You belong to ${organizationName}` : "Invitation declined"}</h1>
        <Notice tone={outcome === "accept" ? "good" : "note"}>
          {outcome === "accept" ? `Your role is ${role.replaceAll(",", ", ")}.` : "Nothing was changed."}
        </Notice>
        <div>
          <a className="button quiet" href="/account">
            Go to your account
          </a>
        </div>
      </div>
    );
  }
  return (
    <div className="card stack">
      <h1>Join {organizationName}?</h1>
      <dl className="facts">
        <div>
          <dt className="soft">Invited by</dt>
          <dd>{inviterEmail}</dd>
        </div>
        <div>
          <dt className="soft">Your role</dt>
          <dd>{role.replaceAll(",", ", ")}</dd>
        </div>
        <div>
          <dt className="soft">Open until</dt>
          <dd>{formatMoment(expiresAt)}</dd>
        </div>
      </dl>
      <div className="row">
        <Button busy={busy === "accept"} onClick={() => void respond("accept")}>
          Join
        </Button>
        <Button quiet busy={busy === "reject"} onClick={() => void respond("reject")}>
          Decline
        </Button>
      </div>
    </div>
  );
}

/** Where the mail of an invitation leads: who invites to what, to be accepted or declined by the one it was sent to. */
export default function AcceptInvitationPage() {
  const id = new URLSearchParams(location.search).get("id") ?? "";
  const { pending, value: signed } = useStore(session);
  const [invitation, setInvitation] = useState<Invitation>();
  const [failure, setFailure] = useState<Failure>();
  const user_id = signed?.user.id;

  const load = useCallback(async (): Promise<void> => {
    const answer = await invitations.get(id);
    if (answer.ok) {
      setInvitation(answer.value);
      setFailure(undefined);
    } else setFailure(answer.failure);
  }, [id]);
  useEffect(() => {
    if (user_id) void load();
  }, [user_id, load]);
  const unconfirmed = /VERIFICATION_REQUIRED/.test(failure?.error ?? "");
  useEffect(() => {
    if (!unconfirmed) return;
    // The link may be followed in another window.
    const reload = (): void => void load();
    addEventListener("focus", reload);
    return () => removeEventListener("focus", reload);
  }, [unconfirmed, load]);

  if (pending || (signed && !invitation && !failure)) return <Frame />;
  return (
    <Shell title="Invitation">
      {!signed ? (
        <SignedOut />
      ) : unconfirmed ? (
        <Unconfirmed email={signed.user.email} />
      ) : failure ? (
        <Refused failure={failure} signed={signed} />
      ) : (
        invitation && <Question invitation={invitation} refused={setFailure} />
      )}
    </Shell>
  );
}
