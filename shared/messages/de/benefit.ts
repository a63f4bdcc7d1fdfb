import type { BenefitMessages } from "../en/benefit.ts";

/** What benefits are, in German. */
export const messages: BenefitMessages = {
  key: "Lizenzschlüssel",
  devices: (count: number) => `Lizenzschlüssel für ${count === 1 ? "ein Gerät" : `${count} Geräte`}`,
  lasts: {
    day: (count: number) => `${count === 1 ? "einen Tag" : `${count} Tage`} gültig`,
    month: (count: number) => `${count === 1 ? "einen Monat" : `${count} Monate`} gültig`,
    year: (count: number) => `${count === 1 ? "ein Jahr" : `${count} Jahre`} gültig`,
  },
  uses: (count: number) => `${count === 1 ? "einmal" : `${count}-mal`} nutzbar`,
  files: (count: number) => `${count === 1 ? "Eine Datei" : `${count} Dateien`} zum Herunterladen`,
  discord: "Eine Rolle bei Discord",
  github: "Zugang zu einem Repository bei GitHub",
};
