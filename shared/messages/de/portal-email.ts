import type { PortalEmailMessages } from "../en/portal-email.ts";

/** Emails that sign a customer in to the portal or confirm an address, in German. */
export const messages: PortalEmailMessages = {
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
