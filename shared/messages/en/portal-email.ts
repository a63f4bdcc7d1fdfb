/** Emails that sign a customer in to the portal or confirm an address, in English. */
export const messages = {
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
export type PortalEmailMessages = typeof messages;
