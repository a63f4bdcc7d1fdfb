import { getServerClock } from "../platform/clock.ts";
import type { Ctx } from "../platform/context.ts";
import { rejectRateLimited } from "../platform/http/limits.ts";
import { createLimiter } from "../platform/limits/attempts.ts";
import type { Limit } from "../platform/limits/limits.ts";

const hourSeconds = 60 * 60;
/** Codes that are asked for one address at one seller, from wherever. */
const requestsPerAddress: Limit = { max: 20, window_seconds: hourSeconds };
/** Codes that are asked for at one seller. */
const requestsPerSeller: Limit = { max: 3000, window_seconds: hourSeconds };
/** Wrong codes for one address, at one seller, and without either, of which nobody knows for whom they are. */
const guessesPerAddress: Limit = { max: 20, window_seconds: hourSeconds };
const guessesPerSeller: Limit = { max: 600, window_seconds: hourSeconds };
const tooManyCodes = "Too many codes.";
const unnamedGuesses: Limit = { max: 300, window_seconds: hourSeconds };

/** Counts of all servers on this database. */
const openLimiter = ({ db, clock, config }: Ctx) => createLimiter({ db, clock: getServerClock(clock), config });

/** Refuse codes beyond what an address and a seller may have asked for, whoever asks and whether there is such a customer. */
export async function countRequest(
  ctx: Ctx,
  { email, organization_id }: { email: string; organization_id: string },
): Promise<void> {
  const { hit } = openLimiter(ctx);
  rejectRateLimited(await hit(`portal-request-of-seller:${organization_id}`, requestsPerSeller), tooManyCodes);
  rejectRateLimited(
    await hit(`portal-request:${organization_id} ${email.toLowerCase()}`, requestsPerAddress),
    tooManyCodes,
  );
}

/** Declared cancellations: each sends a mail to an address that anybody may have typed. */
const declarationsPerAddress: Limit = { max: 5, window_seconds: 24 * hourSeconds };
const declarationsPerSeller: Limit = { max: 100, window_seconds: hourSeconds };
const tooManyDeclarations = "Too many declarations.";

/** Refuse cancellations beyond what an address and a seller may have declared, whether there is such a customer or not. */
export async function countDeclaration(
  ctx: Ctx,
  { email, organization_id }: { email: string; organization_id: string },
): Promise<void> {
  const { hit } = openLimiter(ctx);
  const address = `cancellation:${organization_id} ${email.toLowerCase()}`;
  rejectRateLimited(await hit(`cancellation-of-seller:${organization_id}`, declarationsPerSeller), tooManyDeclarations);
  rejectRateLimited(await hit(address, declarationsPerAddress), tooManyDeclarations);
}

/** Count a code that is tried, from whatever address. Answers how to take it back, as a good code is no guess. */
export async function countGuess(
  ctx: Ctx,
  {
    email,
    organization_id,
    request_id,
  }: Partial<Record<"email" | "organization_id" | "request_id", string | undefined>>,
): Promise<() => Promise<void>> {
  const { hit, takeBack } = openLimiter(ctx);
  const counted: [string, Limit][] = [];
  if (organization_id !== undefined) counted.push([`portal-guess-of-seller:${organization_id}`, guessesPerSeller]);
  if (email !== undefined)
    counted.push([`portal-guess:${organization_id ?? ""} ${email.toLowerCase()}`, guessesPerAddress]);
  if (request_id === undefined && email === undefined) counted.push(["portal-guess-unnamed:", unnamedGuesses]);
  for (const [key, limit] of counted) rejectRateLimited(await hit(key, limit), tooManyCodes);
  return async () => {
    for (const [key] of counted) await takeBack(key);
  };
}
