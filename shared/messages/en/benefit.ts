/** What benefits are, in English. The command line loads them without the texts of the checkout. */
export const messages = {
  key: "License key",
  devices: (count: number) => `License key for ${count === 1 ? "one device" : `${count} devices`}`,
  lasts: {
    day: (count: number) => `valid for ${count === 1 ? "one day" : `${count} days`}`,
    month: (count: number) => `valid for ${count === 1 ? "one month" : `${count} months`}`,
    year: (count: number) => `valid for ${count === 1 ? "one year" : `${count} years`}`,
  },
  uses: (count: number) => `usable ${count === 1 ? "once" : `${count} times`}`,
  files: (count: number) => `${count === 1 ? "One file" : `${count} files`} to download`,
  discord: "A role on Discord",
  github: "Access to a repository on GitHub",
};
export type BenefitMessages = typeof messages;
