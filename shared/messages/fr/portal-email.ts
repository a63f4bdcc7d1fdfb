import type { PortalEmailMessages } from "../en/portal-email.ts";

/** Emails that sign a customer in to the portal or confirm an address, in French. */
export const messages: PortalEmailMessages = {
  code_subject: (seller) => `Votre code pour ${seller}`,
  code: (code) => `Votre code de connexion est ${code}.`,
  code_minutes: (minutes) => `Il est valable ${minutes} minutes, une seule fois.`,
  code_team: (team) => `Il ouvre ce que vous avez comme membre de ${team}.`,
  code_unasked: "Si vous ne l’avez pas demandé, rien ne se passe : vous n’avez rien à faire.",
  email_subject: (seller) => `Confirmez votre nouvelle adresse chez ${seller}`,
  email: (seller) => `Cette adresse va devenir la vôtre chez ${seller}.`,
  email_action: "Prendre cette adresse",
  email_hours: (hours) => `Le lien est valable ${hours} heures, une seule fois.`,
};
