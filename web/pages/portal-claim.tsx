import { useCallback, useState } from "react";
import { describeFailure } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Button } from "../parts/Button.tsx";
import { Notice } from "../parts/Notice.tsx";
import { Arrival, ArrivalPage } from "../portal/Arrival.tsx";
import { entrance, type Failure, storeSession } from "../portal/calls.ts";
import { usePortalMessages } from "../portal/messages.tsx";
import { navigate } from "../router.tsx";
import { useQuery } from "../use-query.ts";

function Claim({ slug, token }: { slug: string; token: string }) {
  const { messages: common } = useI18n();
  const messages = usePortalMessages();
  const { value: info, failure } = useQuery(useCallback(() => entrance.seat(token), [token]));
  const [refused, setRefused] = useState<Failure>();
  const [busy, setBusy] = useState(false);

  const claim = async (): Promise<void> => {
    setBusy(true);
    const answer = await entrance.claimSeat(token);
    setBusy(false);
    if (!answer.ok) return setRefused(answer.failure);
    storeSession(slug, answer.value.customer_session_token);
    navigate(`/${slug}/portal`, { replace: true });
  };
  if (failure?.status === 404 || info?.can_claim === false) return <Arrival said={messages.seat_gone} />;
  if (!info) return <Arrival said={[messages.seats, failure ? describeFailure(failure, common) : undefined]} />;
  return (
    <Arrival
      said={[messages.seat_title(info.product_name), messages.seat_from(info.organization_name, info.customer_email)]}
    >
      {refused && <Notice tone="fault">{describeFailure(refused, common)}</Notice>}
      <Button full busy={busy} onClick={() => void claim()}>
        {messages.seat_take}
      </Button>
    </Arrival>
  );
}

/** Where the mail about a seat leads: what it is of, and the button that takes it. Opening the link alone takes nothing. */
export default function PortalClaimPage({ params }: { params: Record<string, string> }) {
  return <ArrivalPage>{(token) => <Claim slug={params.slug ?? ""} token={token} />}</ArrivalPage>;
}
