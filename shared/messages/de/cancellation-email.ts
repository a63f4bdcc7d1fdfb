import type { CancellationEmailMessages } from "../en/cancellation-email.ts";

/** Emails about a cancellation without sign-in, in German. */
export const messages: CancellationEmailMessages = {
  subject: (seller) => `${seller} hat Ihre Kündigung erhalten`,
  text: (seller) =>
    `${seller} hat diese Erklärung zum unten genannten Zeitpunkt erhalten. Bewahren Sie diese Nachricht auf.`,
  prove:
    "Bestätigen Sie Ihre Adresse mit der Schaltfläche. Dann wird Ihr Abonnement sofort zum Ende der Laufzeit gekündigt.",
  declared: "Was erklärt wurde",
  received: "Eingegangen",
  name: "Name",
  email: "Adresse",
  reference: "Vertrag, Bestellung oder Produkt",
  kind: "Art",
  kinds: { ordinary: "Ordentliche Kündigung", extraordinary: "Außerordentliche Kündigung" },
  reason: "Grund",
  wanted_on: "Zum",
  earliest: "Zum frühestmöglichen Zeitpunkt",
  action: "Adresse bestätigen",
  note: (days) =>
    `Der Link gilt einmal und ${days} Tage lang. Wenn Sie nichts erklärt haben, tun Sie nichts: Ohne ihn wird nichts gekündigt.`,
  seller_subject: (name) => `${name} hat einen Vertrag gekündigt`,
  seller_done: "Die Adresse ist bestätigt. Das Abonnement wurde zum Ende der Laufzeit gekündigt.",
  seller_open:
    "Die Adresse ist bestätigt. Es wurde kein Abonnement gekündigt: Entscheiden Sie, welcher Vertrag gemeint ist.",
};
