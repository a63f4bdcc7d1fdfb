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

/** Which legal details checkout, emails and invoices lack, with the command that sets them. */
export function Legal({ missing }: { missing: readonly Detail[] }) {
  const messages = useHomeMessages();
  // Not every seller has a tax number, so its absence alone is no matter.
  if (missing.every((detail) => detail === "tax_id")) return null;
  return (
    <Panel title={messages.legal}>
      <p className="soft">
        {messages.legal_missing(missing.map((detail) => messages.legal_details[detail]).join(", "))}
      </p>
      <Command text={`floe organization update ${missing.map((detail) => flags[detail]).join(" ")}`} />
    </Panel>
  );
}
