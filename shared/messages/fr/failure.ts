import type { FailureMessages } from "../en/failure.ts";

/** The page that takes the place of one that could not be loaded or drawn, in French. */
export const messages: FailureMessages = {
  title: "Cette page n’a pas pu être affichée",
  text: "Le serveur a peut-être été mis à jour pendant que la page était ouverte. Rechargez la page.",
  not_charged: "Rien n’a été débité.",
  reload: "Recharger",
  paid: "Merci pour votre achat",
  paid_how:
    "Votre commande est terminée, mais cette page ne peut pas en afficher les détails. Vous les trouverez dans vos achats.",
  pending: "Votre paiement est en cours de traitement",
  pending_how:
    "Ne payez pas une seconde fois. Si votre banque vous pose une question, rechargez la page pour y répondre.",
  purchases: "Ouvrir vos achats",
};
