import type { ConfirmationMessages } from "../en/confirmation.ts";

/** The page after a purchase, in German. */
export const messages: ConfirmationMessages = {
  thanks: "Vielen Dank für Ihren Kauf",
  thanks_trial: "Danke, Ihre Testphase hat begonnen",
  your_order: "Ihre Bestellung",
  thank_you: "Danke",
  paid: "Die Zahlung ist eingegangen.",
  unpaid: "Es war nichts zu bezahlen.",
  wait: "Das dauert einen Augenblick. Sie können diese Seite offen lassen, sie ändert sich von selbst.",
  completing_title: "Ihr Kauf wird abgeschlossen",
  sent_to: (email) => `Eine Bestätigung ist unterwegs an ${email}.`,
  order_number: "Bestellnummer",
  status: "Status",
  next_charge: "Nächste Abbuchung",
  charge_on: (amount, date) => `${amount} am ${date}`,
  get_receipt: "Beleg herunterladen",
  get_invoice: "Rechnung herunterladen",
  is_paid: "Bezahlt",
  is_complete: "Abgeschlossen",
  is_underway: "In Arbeit",
  continue_to: (seller) => `Weiter zu ${seller}`,
  back_to: (seller) => `Zurück zu ${seller}`,
  cancel_contract: "Verträge hier kündigen",
  in_purchases:
    "Was Sie gekauft haben, finden Sie bei Ihren Käufen. Dort melden Sie sich mit einem Code an, den wir Ihnen schicken.",
  to_purchases: "Ihre Käufe öffnen",
};
