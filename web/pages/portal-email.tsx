import { useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useSpeech } from "../i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Arrival, ArrivalPage } from "../portal/Arrival.tsx";
import { entrance, type Failure, storeSession } from "../portal/calls.ts";
import { usePortalWords } from "../portal/i18n.tsx";
import { navigate } from "../router.tsx";

function Confirm({ slug, token }: { slug: string; token: string }) {
  const { words: common } = useSpeech();
  const words = usePortalWords();
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
  if (refused?.status === 401) return <Arrival said={words.email_gone} />;
  return (
    <Arrival said={[words.email_change, words.email_take_how]}>
      {refused && <Notice tone="fault">{describeFailure(refused, common)}</Notice>}
      <Button full busy={busy} onClick={() => void confirmEmail()}>
        {words.email_take}
      </Button>
    </Arrival>
  );
}

/** Where the mail to a new address leads: the button that takes it. Programs that open links of mails take nothing. */
export default function PortalEmailPage({ params }: { params: Record<string, string> }) {
  return <ArrivalPage>{(token) => <Confirm slug={params.slug ?? ""} token={token} />}</ArrivalPage>;
}
