import type { ConfirmationMessages } from "../en/confirmation.ts";

/** The page after a purchase, in French. */
export const messages: ConfirmationMessages = {
  thanks: "Merci pour votre achat",
  thanks_trial: "Merci, votre essai a commencé",
  your_order: "Votre commande",
  thank_you: "Merci",
  paid: "Le paiement a été effectué.",
  unpaid: "Il n’y avait rien à payer.",
  wait: "Cela prend un instant. Vous pouvez laisser cette page ouverte ; elle changera d’elle-même.",
  completing_title: "Votre achat est en cours",
  sent_to: (email) => `Une confirmation est en route vers ${email}.`,
  order_number: "Numéro de commande",
  status: "Statut",
  next_charge: "Prochain prélèvement",
  charge_on: (amount, date) => `${amount} le ${date}`,
  get_receipt: "Télécharger le reçu",
  get_invoice: "Télécharger la facture",
  is_paid: "Payée",
  is_complete: "Terminée",
  is_underway: "En cours",
  continue_to: (seller) => `Continuer vers ${seller}`,
  back_to: (seller) => `Retour à ${seller}`,
  cancel_contract: "Résilier un contrat",
  in_purchases:
    "Vous trouverez ce que vous avez acheté dans vos achats. Vous vous y connectez avec un code que nous vous envoyons.",
  to_purchases: "Ouvrir vos achats",
};
