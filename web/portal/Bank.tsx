import { Suspense, useEffect } from "react";
import { createLazyPart, loadPart } from "../reload.ts";
import { useFailure } from "../use-failure.ts";
import { usePlace } from "./portal-context.ts";

const Challenge = createLazyPart(() => import("../parts/Challenge.tsx"));

/** The bank of whoever pays asks them whether it is they: Stripe in a window of its own, a test card on the page. */
export function Bank({ secret, answered }: { secret: string; answered: () => void }) {
  const { publishable_key } = usePlace().seller;
  const fail = useFailure();
  useEffect(() => {
    if (!publishable_key) return;
    let gone = false;
    loadPart(() => import("../stripe.ts"))
      .then(async ({ openStripe }) => {
        await (await openStripe(publishable_key)).handleNextAction({ clientSecret: secret });
        if (!gone) answered();
      })
      .catch(fail);
    return () => {
      gone = true;
    };
  }, [publishable_key, secret, answered, fail]);
  return publishable_key ? null : (
    <Suspense>
      <Challenge intent_client_secret={secret} answered={answered} />
    </Suspense>
  );
}
