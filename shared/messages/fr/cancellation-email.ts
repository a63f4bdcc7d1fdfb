import type { CancellationEmailMessages } from "../en/cancellation-email.ts";

/** Emails about a cancellation without sign-in, in French. */
export const messages: CancellationEmailMessages = {
  subject: (seller) => `${seller} a reçu votre résiliation`,
  text: (seller) => `${seller} a reçu cette déclaration au moment indiqué ci-dessous. Conservez ce message.`,
  prove: "Confirmez votre adresse avec le bouton. Votre abonnement est alors résilié aussitôt, à la fin de sa période.",
  declared: "Ce qui a été déclaré",
  received: "Reçu",
  name: "Nom",
  email: "Adresse",
  reference: "Contrat, commande ou produit",
  kind: "Type",
  kinds: { ordinary: "Résiliation ordinaire", extraordinary: "Résiliation extraordinaire" },
  reason: "Motif",
  wanted_on: "Pour le",
  earliest: "Le plus tôt possible",
  action: "Confirmer mon adresse",
  note: (days) =>
    `Le lien fonctionne une fois, pendant ${days} jours. Si vous n’avez rien déclaré, ne faites rien : sans lui, rien n’est résilié.`,
  seller_subject: (name) => `${name} a résilié un contrat`,
  seller_done: "L’adresse est confirmée. L’abonnement a été résilié à la fin de sa période.",
  seller_open: "L’adresse est confirmée. Aucun abonnement n’a été résilié : décidez quel contrat est visé.",
};
