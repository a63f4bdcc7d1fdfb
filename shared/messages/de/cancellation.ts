import type { CancellationMessages } from "../en/cancellation.ts";

/** The page on which contracts are canceled without signing in, in German. */
export const messages: CancellationMessages = {
  title: "Verträge hier kündigen",
  how: (seller) =>
    `Kündigen Sie einen Vertrag mit ${seller}. Sie brauchen kein Konto. Eine Bestätigung geht an Ihre Adresse.`,
  name: "Ihr Name",
  email: "Adresse, mit der Sie bestellt haben",
  reference: "Bestellnummer, Rechnungsnummer oder Produkt",
  kind: "Art der Kündigung",
  kinds: { ordinary: "Ordentlich", extraordinary: "Außerordentlich, aus wichtigem Grund" },
  reason: "Grund",
  wanted_on: "Kündigen zum",
  earliest: "Leer: zum frühestmöglichen Zeitpunkt",
  submit: "Jetzt kündigen",
  missing: "Bitte ausfüllen.",
  received: "Ihre Kündigung ist eingegangen",
  received_how: (moment, email) =>
    `Eingegangen am ${moment}. Eine Bestätigung ist unterwegs an ${email}. Folgen Sie ihrem Link, um das Abonnement sofort zu kündigen.`,
  keep: "Sie können diese Seite drucken oder speichern.",
  confirm_title: "Adresse bestätigen",
  confirm_how: "Ihr Abonnement wird dann zum Ende der Laufzeit gekündigt.",
  confirm: "Adresse bestätigen",
  done: "Ihr Abonnement ist gekündigt",
  done_how: (day) => `Es endet am ${day}. Bis dahin behalten Sie den Zugang.`,
  open: "Ihre Adresse ist bestätigt",
  open_how: "Der Verkäufer hat Ihre Kündigung und teilt Ihnen mit, welcher Vertrag wann endet.",
  gone: "Dieser Link gilt nicht mehr",
  gone_how: "Er wurde schon benutzt oder ist abgelaufen. Ihre Kündigung ist trotzdem eingegangen.",
  unknown: "Diesen Verkäufer gibt es nicht",
};
