import type { CancellationMessages } from "../en/cancellation.ts";

/** The page on which contracts are canceled without signing in, in French. */
export const messages: CancellationMessages = {
  title: "Résilier un contrat ici",
  how: (seller) =>
    `Résiliez un contrat avec ${seller}. Aucun compte n’est nécessaire. Une confirmation est envoyée à votre adresse.`,
  name: "Votre nom",
  email: "Adresse avec laquelle vous avez commandé",
  reference: "Numéro de commande, de facture ou produit",
  kind: "Type de résiliation",
  kinds: { ordinary: "Ordinaire", extraordinary: "Extraordinaire, pour motif grave" },
  reason: "Motif",
  wanted_on: "Résilier pour le",
  earliest: "Vide : le plus tôt possible",
  submit: "Résilier maintenant",
  missing: "Veuillez remplir ce champ.",
  received: "Votre résiliation a été reçue",
  received_how: (moment, email) =>
    `Reçue le ${moment}. Une confirmation est en route vers ${email}. Suivez son lien pour résilier l’abonnement aussitôt.`,
  keep: "Vous pouvez imprimer ou enregistrer cette page.",
  confirm_title: "Confirmez votre adresse",
  confirm_how: "Votre abonnement est alors résilié à la fin de sa période.",
  confirm: "Confirmer mon adresse",
  done: "Votre abonnement est résilié",
  done_how: (day) => `Il prend fin le ${day}. Vous gardez l’accès jusque-là.`,
  open: "Votre adresse est confirmée",
  open_how: "Le vendeur a votre résiliation et vous dira quel contrat prend fin et quand.",
  gone: "Ce lien ne fonctionne plus",
  gone_how: "Il a déjà été utilisé ou a expiré. Votre résiliation a tout de même été reçue.",
  unknown: "Ce vendeur n’existe pas",
};
