import type { CardUpdateMessages } from "../en/card-update.ts";

/** The page on which a customer replaces a card or pays an open amount, in French. */
export const messages: CardUpdateMessages = {
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
