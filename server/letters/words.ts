/** What mails to customers say, in each of the languages that invoices have. Dates and amounts come as they are written there. */
import type { Language } from "../invoices/words.ts";

const english = {
  locale: "en-GB",
  subject: (number: string, seller: string) => `Your order ${number} from ${seller}`,
  paid: (amount: string, seller: string) => `Thank you. ${seller} has received your payment of ${amount}.`,
  unpaid: (seller: string) => `Thank you for your order from ${seller}. Nothing was charged.`,
  order: (number: string, date: string) => `Order ${number} of ${date}`,
  open_invoice: "Open the invoice",
  open_receipt: "Open the receipt",
  kept: "The links are good for a year.",
  questions: (email: string) => `Questions? Write to ${email}.`,
  fallback: "If the button does not work, open this address:",
  sent_by: (from: string) => `Sent by ${from}`,
  subjects: {
    started: (product: string) => `Your subscription to ${product} has begun`,
    trial_started: (product: string) => `Your free trial of ${product} has begun`,
    trial_over: (product: string) => `Your trial of ${product} is over, and your subscription has begun`,
    renewed: (product: string) => `Your subscription to ${product} was renewed`,
    changed: (product: string) => `Your subscription has changed to ${product}`,
    change_planned: (_: string, day: string) => `Your subscription changes on ${day}`,
    canceled: (product: string) => `Your subscription to ${product} is cancelled`,
    uncanceled: (product: string) => `Your subscription to ${product} goes on after all`,
    paused: (product: string) => `Your subscription to ${product} is paused`,
    resumed: (product: string) => `Your subscription to ${product} goes on`,
    payment_failed: (product: string) => `Your payment for ${product} did not go through`,
    ended: (product: string) => `Your subscription to ${product} has ended`,
    trial_ending: (product: string, day: string) => `Your trial of ${product} ends on ${day}`,
    renewal_ahead: (product: string, day: string) => `Your subscription to ${product} is renewed on ${day}`,
    card_expiring: (product: string) => `The card for your subscription to ${product} is about to expire`,
  },
  changed: (product: string, seller: string) => `Your subscription from ${seller} is now: ${product}.`,
  change_planned: (day: string, product: string, seller: string) =>
    `From ${day} on, your subscription from ${seller} is: ${product}.`,
  seats: (count: number) => `Seats: ${count}.`,
  canceled: (product: string, seller: string) => `Your subscription to ${product} from ${seller} was cancelled.`,
  uncanceled: (product: string, seller: string) =>
    `The cancellation of your subscription to ${product} from ${seller} was taken back.`,
  paused: (product: string, seller: string) =>
    `Your subscription to ${product} from ${seller} is paused. It costs nothing meanwhile.`,
  resumes: (day: string) => `It goes on on ${day}.`,
  resumed: (product: string, seller: string) => `Your subscription to ${product} from ${seller} is no longer paused.`,
  ended: (product: string, seller: string) => `Your subscription to ${product} from ${seller} has ended.`,
  no_charge: "Nothing more is charged.",
  was_unpaid: "It ended because a payment was missing. That payment is not asked for any more.",
  runs: (day: string) => `It runs until ${day}.`,
  renews: (day: string, amount: string) => `It runs until ${day} and is then renewed for ${amount}.`,
  ends: (day: string) => `It runs until ${day} and is not renewed.`,
  trial: (product: string, seller: string, day: string) => `Your trial of ${product} from ${seller} ends on ${day}.`,
  trial_runs: (day: string) => `The trial ends on ${day}.`,
  then_charged: (amount: string) => `Then ${amount} is charged.`,
  charged_to: (card: string) => `It is charged to your card ${card}.`,
  no_card: "There is no card yet that could be charged.",
  renewal: (product: string, seller: string, day: string, amount: string) =>
    `Your subscription to ${product} from ${seller} is renewed on ${day} for ${amount}.`,
  failed: (seller: string, amount: string, product: string, card: string | null) =>
    card === null
      ? `${seller} could not charge ${amount} for your subscription to ${product}, as there is no card that could be charged.`
      : `${seller} could not charge ${amount} for your subscription to ${product} to your card ${card}.`,
  next_try: (moment: string, last: string) =>
    `It is tried again on ${moment}, and for the last time by ${last}. After that your subscription ends.`,
  last_try: (last: string) => `It is tried for the last time by ${last}. After that your subscription ends.`,
  leave_card: "Leave another card",
  leave_and_pay: "Leave another card, and it is charged at once.",
  expiring: (card: string, month: string, product: string, seller: string) =>
    `Your card ${card} expires at the end of ${month}. It pays for your subscription to ${product} from ${seller}.`,
  leave_in_time: "Leave another card, so that your subscription goes on.",
  link_until: (day: string) => `The link is good until ${day}, and for you alone.`,
};
type LetterWords = typeof english;

const german: LetterWords = {
  locale: "de-DE",
  subject: (number, seller) => `Ihre Bestellung ${number} bei ${seller}`,
  paid: (amount, seller) => `Vielen Dank. ${seller} hat Ihre Zahlung von ${amount} erhalten.`,
  unpaid: (seller) => `Vielen Dank für Ihre Bestellung bei ${seller}. Es wurde nichts abgebucht.`,
  order: (number, date) => `Bestellung ${number} vom ${date}`,
  open_invoice: "Rechnung öffnen",
  open_receipt: "Zahlungsbeleg öffnen",
  kept: "Die Links gelten ein Jahr lang.",
  questions: (email) => `Fragen? Schreiben Sie an ${email}.`,
  fallback: "Falls die Schaltfläche nicht geht, öffnen Sie diese Adresse:",
  sent_by: (from) => `Gesendet von ${from}`,
  subjects: {
    started: (product) => `Ihr Abonnement von ${product} hat begonnen`,
    trial_started: (product) => `Ihre kostenlose Testzeit von ${product} hat begonnen`,
    trial_over: (product) => `Ihre Testzeit von ${product} ist vorbei, und Ihr Abonnement hat begonnen`,
    renewed: (product) => `Ihr Abonnement von ${product} wurde verlängert`,
    changed: (product) => `Ihr Abonnement ist jetzt ${product}`,
    change_planned: (_, day) => `Ihr Abonnement ändert sich am ${day}`,
    canceled: (product) => `Ihr Abonnement von ${product} ist gekündigt`,
    uncanceled: (product) => `Ihr Abonnement von ${product} läuft doch weiter`,
    paused: (product) => `Ihr Abonnement von ${product} pausiert`,
    resumed: (product) => `Ihr Abonnement von ${product} läuft weiter`,
    payment_failed: (product) => `Ihre Zahlung für ${product} ist fehlgeschlagen`,
    ended: (product) => `Ihr Abonnement von ${product} ist beendet`,
    trial_ending: (product, day) => `Ihre Testzeit von ${product} endet am ${day}`,
    renewal_ahead: (product, day) => `Ihr Abonnement von ${product} verlängert sich am ${day}`,
    card_expiring: (product) => `Die Karte für Ihr Abonnement von ${product} läuft bald ab`,
  },
  changed: (product, seller) => `Ihr Abonnement bei ${seller} ist jetzt: ${product}.`,
  change_planned: (day, product, seller) => `Ab dem ${day} ist Ihr Abonnement bei ${seller}: ${product}.`,
  seats: (count) => `Plätze: ${count}.`,
  canceled: (product, seller) => `Ihr Abonnement von ${product} bei ${seller} wurde gekündigt.`,
  uncanceled: (product, seller) => `Die Kündigung Ihres Abonnements von ${product} bei ${seller} wurde zurückgenommen.`,
  paused: (product, seller) => `Ihr Abonnement von ${product} bei ${seller} pausiert. Solange kostet es nichts.`,
  resumes: (day) => `Es läuft am ${day} weiter.`,
  resumed: (product, seller) => `Ihr Abonnement von ${product} bei ${seller} pausiert nicht mehr.`,
  ended: (product, seller) => `Ihr Abonnement von ${product} bei ${seller} ist beendet.`,
  no_charge: "Es wird nichts mehr abgebucht.",
  was_unpaid: "Es endete, weil eine Zahlung fehlte. Diese Zahlung wird nicht mehr verlangt.",
  runs: (day) => `Es läuft bis ${day}.`,
  renews: (day, amount) => `Es läuft bis ${day} und verlängert sich dann für ${amount}.`,
  ends: (day) => `Es läuft bis ${day} und verlängert sich nicht.`,
  trial: (product, seller, day) => `Ihre Testzeit von ${product} bei ${seller} endet am ${day}.`,
  trial_runs: (day) => `Die Testzeit endet am ${day}.`,
  then_charged: (amount) => `Dann werden ${amount} abgebucht.`,
  charged_to: (card) => `Abgebucht wird von Ihrer Karte ${card}.`,
  no_card: "Es gibt noch keine Karte, von der abgebucht werden könnte.",
  renewal: (product, seller, day, amount) =>
    `Ihr Abonnement von ${product} bei ${seller} verlängert sich am ${day} für ${amount}.`,
  failed: (seller, amount, product, card) =>
    card === null
      ? `${seller} konnte ${amount} für Ihr Abonnement von ${product} nicht abbuchen, da es keine Karte gibt, die belastet werden kann.`
      : `${seller} konnte ${amount} für Ihr Abonnement von ${product} nicht von Ihrer Karte ${card} abbuchen.`,
  next_try: (moment, last) => `Es wird am ${moment} wieder versucht, zuletzt bis ${last}. Danach endet Ihr Abonnement.`,
  last_try: (last) => `Es wird bis ${last} ein letztes Mal versucht. Danach endet Ihr Abonnement.`,
  leave_card: "Andere Karte hinterlegen",
  leave_and_pay: "Hinterlegen Sie eine andere Karte; sie wird gleich belastet.",
  expiring: (card, month, product, seller) =>
    `Ihre Karte ${card} läuft Ende ${month} ab. Mit ihr bezahlen Sie Ihr Abonnement von ${product} bei ${seller}.`,
  leave_in_time: "Hinterlegen Sie eine andere Karte, damit Ihr Abonnement weiterläuft.",
  link_until: (day) => `Der Link gilt bis ${day}, und nur für Sie.`,
};

const french: LetterWords = {
  locale: "fr-FR",
  subject: (number, seller) => `Votre commande ${number} chez ${seller}`,
  paid: (amount, seller) => `Merci. ${seller} a bien reçu votre paiement de ${amount}.`,
  unpaid: (seller) => `Merci pour votre commande chez ${seller}. Rien n’a été débité.`,
  order: (number, date) => `Commande ${number} du ${date}`,
  open_invoice: "Ouvrir la facture",
  open_receipt: "Ouvrir le reçu",
  kept: "Les liens sont valables un an.",
  questions: (email) => `Des questions ? Écrivez à ${email}.`,
  fallback: "Si le bouton ne fonctionne pas, ouvrez cette adresse :",
  sent_by: (from) => `Envoyé par ${from}`,
  subjects: {
    started: (product) => `Votre abonnement à ${product} a commencé`,
    trial_started: (product) => `Votre essai gratuit de ${product} a commencé`,
    trial_over: (product) => `Votre essai de ${product} est terminé, et votre abonnement a commencé`,
    renewed: (product) => `Votre abonnement à ${product} a été renouvelé`,
    changed: (product) => `Votre abonnement est passé à ${product}`,
    change_planned: (_, day) => `Votre abonnement change le ${day}`,
    canceled: (product) => `Votre abonnement à ${product} est résilié`,
    uncanceled: (product) => `Votre abonnement à ${product} continue finalement`,
    paused: (product) => `Votre abonnement à ${product} est en pause`,
    resumed: (product) => `Votre abonnement à ${product} reprend`,
    payment_failed: (product) => `Votre paiement pour ${product} n’a pas abouti`,
    ended: (product) => `Votre abonnement à ${product} a pris fin`,
    trial_ending: (product, day) => `Votre essai de ${product} se termine le ${day}`,
    renewal_ahead: (product, day) => `Votre abonnement à ${product} sera renouvelé le ${day}`,
    card_expiring: (product) => `La carte de votre abonnement à ${product} expire bientôt`,
  },
  changed: (product, seller) => `Votre abonnement chez ${seller} est désormais : ${product}.`,
  change_planned: (day, product, seller) => `À partir du ${day}, votre abonnement chez ${seller} sera : ${product}.`,
  seats: (count) => `Places : ${count}.`,
  canceled: (product, seller) => `Votre abonnement à ${product} chez ${seller} a été résilié.`,
  uncanceled: (product, seller) => `La résiliation de votre abonnement à ${product} chez ${seller} a été annulée.`,
  paused: (product, seller) =>
    `Votre abonnement à ${product} chez ${seller} est en pause. Pendant ce temps, il ne coûte rien.`,
  resumes: (day) => `Il reprend le ${day}.`,
  resumed: (product, seller) => `Votre abonnement à ${product} chez ${seller} n’est plus en pause.`,
  ended: (product, seller) => `Votre abonnement à ${product} chez ${seller} a pris fin.`,
  no_charge: "Rien de plus ne sera débité.",
  was_unpaid: "Il a pris fin parce qu’un paiement manquait. Ce paiement ne vous est plus demandé.",
  runs: (day) => `Il court jusqu’au ${day}.`,
  renews: (day, amount) => `Il court jusqu’au ${day} et sera alors renouvelé pour ${amount}.`,
  ends: (day) => `Il court jusqu’au ${day} et ne sera pas renouvelé.`,
  trial: (product, seller, day) => `Votre essai de ${product} chez ${seller} se termine le ${day}.`,
  trial_runs: (day) => `L’essai se termine le ${day}.`,
  then_charged: (amount) => `Ensuite, ${amount} seront débités.`,
  charged_to: (card) => `Le montant est débité de votre carte ${card}.`,
  no_card: "Il n’y a pas encore de carte qui puisse être débitée.",
  renewal: (product, seller, day, amount) =>
    `Votre abonnement à ${product} chez ${seller} sera renouvelé le ${day} pour ${amount}.`,
  failed: (seller, amount, product, card) =>
    card === null
      ? `${seller} n’a pas pu débiter ${amount} pour votre abonnement à ${product}, car il n’y a pas de carte qui puisse être débitée.`
      : `${seller} n’a pas pu débiter ${amount} de votre carte ${card} pour votre abonnement à ${product}.`,
  next_try: (moment, last) =>
    `Une nouvelle tentative aura lieu le ${moment}, et la dernière avant le ${last}. Ensuite, votre abonnement prendra fin.`,
  last_try: (last) => `La dernière tentative aura lieu avant le ${last}. Ensuite, votre abonnement prendra fin.`,
  leave_card: "Laisser une autre carte",
  leave_and_pay: "Laissez une autre carte ; elle sera débitée aussitôt.",
  expiring: (card, month, product, seller) =>
    `Votre carte ${card} expire fin ${month}. Elle paie votre abonnement à ${product} chez ${seller}.`,
  leave_in_time: "Laissez une autre carte pour que votre abonnement continue.",
  link_until: (day) => `Le lien est valable jusqu’au ${day}, et pour vous seulement.`,
};

const words: Record<Language, LetterWords> = { en: english, de: german, fr: french };

export type Occasion = keyof LetterWords["subjects"];
export const letterWordsOf = (language: Language): LetterWords => words[language];
