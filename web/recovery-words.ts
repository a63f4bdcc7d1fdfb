/** What the page says on which another card is left. What card forms say themselves is in `words/`. */
const english = {
  title: "Pay with another card",
  unpaid: "unpaid",
  refused: (card: string) => `It could not be charged to your card ${card}.`,
  no_card: "There is no card that could be charged.",
  next_try: (moment: string) => `It is tried again on ${moment}.`,
  last_try: (moment: string) => `It is tried for the last time by ${moment}. After that your subscription ends.`,
  how: "The card is charged now, and from now on in place of the one before.",
  title_last: "Pay what is left",
  is_over: "The subscription has ended. It is not tried again by itself.",
  how_last: "The card is charged this once, and not kept.",
  paid_last: "There is nothing more to do here. You can close this page.",
  paying: "The payment is under way",
  paid: "Everything is paid",
  paid_by: (card: string) => `From now on your card ${card} is charged. There is nothing more to do here.`,
  ended: "This subscription has ended",
  no_charge: "Nothing more is charged. You can close this page.",
  keep_title: "Leave another card",
  expires: (card: string, month: string) => `Your card ${card} expires at the end of ${month}.`,
  keep_how: "Nothing is charged now. From the next payment on, this card is charged in place of the one before.",
  keep: "Keep this card",
  keeping: "Your card is being checked",
  kept: "Your new card is kept",
  expired: ["This link has expired", "Open the one in the newest mail. Nothing was charged."],
  unknown: ["This link leads nowhere", "It may be cut short. Open it again from the mail. Nothing was charged."],
};
type CardWords = typeof english;

const german: CardWords = {
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

const french: CardWords = {
  title: "Payer avec une autre carte",
  unpaid: "impayé",
  refused: (card) => `Le montant n’a pas pu être débité de votre carte ${card}.`,
  no_card: "Il n’y a pas de carte qui puisse être débitée.",
  next_try: (moment) => `Une nouvelle tentative aura lieu le ${moment}.`,
  last_try: (moment) => `La dernière tentative aura lieu avant le ${moment}. Ensuite, votre abonnement prendra fin.`,
  how: "La carte est débitée maintenant, et désormais à la place de la précédente.",
  title_last: "Payer le reste",
  is_over: "L’abonnement a pris fin. Aucune nouvelle tentative n’aura lieu d’elle-même.",
  how_last: "La carte est débitée cette seule fois, et n’est pas enregistrée.",
  paid_last: "Il n’y a plus rien à faire ici. Vous pouvez fermer cette page.",
  paying: "Le paiement est en cours",
  paid: "Tout est payé",
  paid_by: (card) => `Désormais, votre carte ${card} sera débitée. Il n’y a plus rien à faire ici.`,
  ended: "Cet abonnement a pris fin",
  no_charge: "Rien de plus ne sera débité. Vous pouvez fermer cette page.",
  keep_title: "Laisser une autre carte",
  expires: (card, month) => `Votre carte ${card} expire fin ${month}.`,
  keep_how:
    "Rien n’est débité maintenant. Dès le prochain paiement, cette carte sera débitée à la place de la précédente.",
  keep: "Enregistrer cette carte",
  keeping: "Votre carte est en cours de vérification",
  kept: "Votre nouvelle carte est enregistrée",
  expired: ["Ce lien a expiré", "Ouvrez celui du dernier e-mail. Rien n’a été débité."],
  unknown: [
    "Ce lien ne mène nulle part",
    "Il est peut-être coupé. Ouvrez-le de nouveau depuis l’e-mail. Rien n’a été débité.",
  ],
};

/** The words for a reader of this locale. */
export function getCardWords(locale: string): CardWords {
  const { language } = new Intl.Locale(locale);
  return language === "de" ? german : language === "fr" ? french : english;
}
