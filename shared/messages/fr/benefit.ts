import type { BenefitMessages } from "../en/benefit.ts";

/** What benefits are, in French. */
export const messages: BenefitMessages = {
  key: "Clé d’activation",
  devices: (count: number) => `Clé d’activation pour ${count === 1 ? "un appareil" : `${count} appareils`}`,
  lasts: {
    day: (count: number) => `valable ${count === 1 ? "un jour" : `${count} jours`}`,
    month: (count: number) => `valable ${count === 1 ? "un mois" : `${count} mois`}`,
    year: (count: number) => `valable ${count === 1 ? "un an" : `${count} ans`}`,
  },
  uses: (count: number) => `utilisable ${count === 1 ? "une fois" : `${count} fois`}`,
  files: (count: number) => `${count === 1 ? "Un fichier" : `${count} fichiers`} à télécharger`,
  discord: "Un rôle sur Discord",
  github: "Accès à un dépôt sur GitHub",
};
