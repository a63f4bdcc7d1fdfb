/** What mails of the portal say, in each of the languages that invoices have. */
import type { Language } from "../billing/invoices/messages.ts";

const english = {
  code_subject: (seller: string) => `Your code for ${seller}`,
  code: (code: string) => `Your code to sign in is ${code}.`,
  code_minutes: (minutes: number) => `It is good for ${minutes} minutes, and once.`,
  code_team: (team: string) => `It opens what you have as a member of ${team}.`,
  code_unasked: "If you did not ask for it, nothing happens: leave this mail be.",
  email_subject: (seller: string) => `Confirm your new address at ${seller}`,
  email: (seller: string) => `This address is to become yours at ${seller}.`,
  email_action: "Take this address",
  email_hours: (hours: number) => `The link is good for ${hours} hours, and once.`,
};
type PortalWords = typeof english;

const german: PortalWords = {
  code_subject: (seller) => `Ihr Code für ${seller}`,
  code: (code) => `Ihr Code zum Anmelden ist ${code}.`,
  code_minutes: (minutes) => `Er gilt ${minutes} Minuten, und einmal.`,
  code_team: (team) => `Er öffnet, was Sie als Mitglied von ${team} haben.`,
  code_unasked: "Wenn Sie ihn nicht angefordert haben, geschieht nichts: Sie brauchen nichts zu tun.",
  email_subject: (seller) => `Bestätigen Sie Ihre neue Adresse bei ${seller}`,
  email: (seller) => `Diese Adresse soll Ihre bei ${seller} werden.`,
  email_action: "Diese Adresse übernehmen",
  email_hours: (hours) => `Der Link gilt ${hours} Stunden, und einmal.`,
};

const french: PortalWords = {
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

const words: Record<Language, PortalWords> = { en: english, de: german, fr: french };
/** The words in a language. */
export const getPortalWords = (language: Language): PortalWords => words[language];
