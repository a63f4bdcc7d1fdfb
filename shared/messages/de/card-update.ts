import type { CardUpdateMessages } from "../en/card-update.ts";

/** The page on which a customer replaces a card or pays an open amount, in German. */
export const messages: CardUpdateMessages = {
  title: "Mit einer anderen Karte bezahlen",
  unpaid: "offen",
  refused: (card) => `Von Ihrer Karte ${card} konnte nicht abgebucht werden.`,
  no_card: "Es gibt keine Karte, die belastet werden kann.",
  next_try: (moment) => `Es wird am ${moment} wieder versucht.`,
  last_try: (moment) => `Zuletzt wird es bis ${moment} versucht. Danach endet Ihr Abonnement.`,
  how: "Die Karte wird jetzt belastet, und von nun an statt der bisherigen.",
  title_last: "Den Rest bezahlen",
  is_over: "Das Abonnement ist beendet. Es wird nicht von selbst noch einmal versucht.",
  how_last: "Die Karte wird nur dieses eine Mal belastet und nicht gespeichert.",
  paid_last: "Hier ist nichts mehr zu tun. Sie können diese Seite schließen.",
  paying: "Die Zahlung läuft",
  paid: "Alles ist bezahlt",
  paid_by: (card) => `Von nun an wird Ihre Karte ${card} belastet. Hier ist nichts mehr zu tun.`,
  ended: "Dieses Abonnement ist beendet",
  no_charge: "Es wird nichts mehr abgebucht. Sie können diese Seite schließen.",
  keep_title: "Andere Karte hinterlegen",
  expires: (card, month) => `Ihre Karte ${card} läuft Ende ${month} ab.`,
  keep_how: "Es wird jetzt nichts abgebucht. Ab der nächsten Zahlung wird diese Karte statt der bisherigen belastet.",
  keep: "Diese Karte hinterlegen",
  keeping: "Ihre Karte wird geprüft",
  kept: "Ihre neue Karte ist hinterlegt",
  expired: ["Dieser Link ist abgelaufen", "Öffnen Sie den in der neuesten E-Mail. Es wurde nichts abgebucht."],
  unknown: [
    "Dieser Link führt nirgendwohin",
    "Vielleicht ist er abgeschnitten. Öffnen Sie ihn noch einmal aus der E-Mail. Es wurde nichts abgebucht.",
  ],
};
