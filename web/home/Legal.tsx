import { Suspense, useEffect, useRef, useState } from "react";
import { Button } from "../parts/Button.tsx";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";
import { createLazyPart } from "../reload.ts";
import { Command } from "./Command.tsx";
import type { Overview } from "./calls.ts";
import { useHomeMessages } from "./messages.tsx";
import { Panel } from "./Panel.tsx";

type Detail = Overview["missing_legal"][number];
/** The flags that set a detail; who copies the command puts their own values there. */
const flags: Record<Detail, string> = {
  legal_name: '--invoice-settings legal_name="Acme GmbH"',
  address:
    '--invoice-settings address.line1="Am Tor 1" --invoice-settings address.postal_code=10115 --invoice-settings address.city=Berlin --invoice-settings address.country=DE',
  tax_id: "--invoice-settings tax_id=DE123456788",
  terms_url: "--legal-settings terms_url=https://acme.example/terms",
  privacy_url: "--legal-settings privacy_url=https://acme.example/privacy",
};

const LegalForm = createLazyPart(() => import("./LegalForm.tsx"));

/** Which legal details checkout, emails and invoices lack, the command that sets them, and a form once that is asked for. */
export function Legal({ missing: all }: { missing: readonly Detail[] }) {
  const messages = useHomeMessages();
  // Not every seller has a tax number, so its absence alone is no matter.
  const missing = all.every((detail) => detail === "tax_id") ? [] : all;
  const panel = useRef<HTMLDivElement>(null);
  const [state, setState] = useState<"shown" | "edited" | "saved" | "left">("shown");
  // The form takes the focus itself; where it is gone, the keyboard goes on from the button that opened it.
  useEffect(() => {
    if (state === "saved" || state === "left") panel.current?.querySelector<HTMLElement>(".button")?.focus();
  }, [state]);
  return (
    <Panel title={messages.legal}>
      <div ref={panel} className="stack">
        {missing.length > 0 ? (
          <p className="soft">
            {messages.legal_missing(missing.map((detail) => messages.legal_details[detail]).join(", "))}
          </p>
        ) : (
          <p className="soft">{messages.legal_complete}</p>
        )}
        {state === "edited" ? (
          <Suspense fallback={<GhostLine width="100%" height="20rem" />}>
            <LegalForm done={() => setState("saved")} left={() => setState("left")} />
          </Suspense>
        ) : (
          <>
            {state === "saved" && <Notice tone="good">{messages.saved}</Notice>}
            <div className="row">
              <Button quiet onClick={() => setState("edited")}>
                {messages.change_legal}
              </Button>
            </div>
            {missing.length > 0 && (
              <Command text={`floe organization update ${missing.map((detail) => flags[detail]).join(" ")}`} />
            )}
          </>
        )}
      </div>
    </Panel>
  );
}
