import { useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Arrival, ArrivalPage } from "../portal/Arrival.tsx";
import { entrance, type Failure, storeSession } from "../portal/calls.ts";
import { usePortalMessages } from "../portal/messages.tsx";
import { navigate } from "../router.tsx";

function Confirm({ slug, token }: { slug: string; token: string }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const [refused, setRefused] = useState<Failure>();
  const [busy, setBusy] = useState(false);
  const confirmEmail = async (): Promise<void> => {
    setBusy(true);
    const answer = await entrance.takeEmail(token);
    setBusy(false);
    if (!answer.ok) return setRefused(answer.failure);
    storeSession(slug, answer.value.token);
    navigate(`/${slug}/portal`, { replace: true });
  };
  if (refused?.status === 401) return <Arrival said={messages.email_gone} />;
  return (
    <Arrival said={[messages.email_change, messages.email_take_how]}>
      {refused && <Notice tone="fault">{describeFailure(refused, common)}</Notice>}
      <Button full busy={busy} onClick={() => void confirmEmail()}>
        {messages.email_take}
      </Button>
    </Arrival>
  );
}

/** Where the mail to a new address leads: the button that takes it. Programs that open links of mails take nothing. */
export default function PortalEmailPage({ params }: { params: Record<string, string> }) {
  return <ArrivalPage>{(token) => <Confirm slug={params.slug ?? ""} token={token} />}</ArrivalPage>;
}
