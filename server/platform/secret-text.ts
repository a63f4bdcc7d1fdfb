/** What a text needs to be a secret of the server. */
import { z } from "zod";

export const secretLengthMin = 32;
const secretCharactersMin = 8;

/** What makes a text too easy to guess to be a secret; a random one of the right length has none of it. */
function findSecretFault(secret: string): string | undefined {
  if (secret.trim() === "") return "is empty: give at least 32 random characters, or leave the setting out";
  if (secret.length < secretLengthMin) return "must be at least 32 characters";
  const repeats = /^(.{1,16})\1+.{0,15}$/s.exec(secret);
  if (new Set(secret).size < secretCharactersMin || repeats)
    return "is too easy to guess: use random characters, as openssl rand -base64 32 makes them";
  return undefined;
}
/** The secret of a server, as it is set. */
export const secretText = z.string().superRefine((text, issues) => {
  const fault = findSecretFault(text);
  if (fault !== undefined) issues.addIssue({ code: "custom", message: fault });
});
