import * as crypto from "node:crypto";
import { eq } from "drizzle-orm";
import type { Database, Log } from "../../../platform/context.ts";
import { redactError } from "../../../platform/loggable.ts";
import { account } from "../tables.ts";

/** How a key is made of a password. */
export type PasswordRecipe =
  | { kind: "argon2id"; memory: number; passes: number; parallelism: number }
  | { kind: "scrypt"; ln: number; r: number; p: number };
type Kept = { recipe: PasswordRecipe; salt: Buffer; key: Buffer };

/**
 * What OWASP asks for (Password Storage, 2025): argon2id with 19 MiB. Node has it since 24.7; before that, scrypt with
 * 16 MiB, which takes five times as long.
 */
const standard: PasswordRecipe =
  typeof crypto.argon2 === "function"
    ? { kind: "argon2id", memory: 19_456, passes: 2, parallelism: 1 }
    : { kind: "scrypt", ln: 14, r: 8, p: 5 };
const saltBytes = 16;
const keyBytes = 32;

/** In the thread pool: the server answers others meanwhile. A text gives the same key however its accents were typed. */
function derive(password: string, { recipe, salt, length }: { recipe: PasswordRecipe; salt: Buffer; length: number }) {
  const text = password.normalize("NFKC");
  return new Promise<Buffer>((resolve, reject) => {
    const finishRun = (error: Error | null, key: Buffer) => (error ? reject(error) : resolve(key));
    if (recipe.kind === "scrypt") {
      const { ln, r, p } = recipe;
      crypto.scrypt(text, salt, length, { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r }, finishRun);
    } else {
      const { kind, ...cost } = recipe;
      crypto.argon2(kind, { message: text, nonce: salt, tagLength: length, ...cost }, finishRun);
    }
  });
}

const encodeText = (bytes: Buffer): string => bytes.toString("base64").replace(/=+$/, "");

/** The usual notation: `$argon2id$v=19$m=19456,t=2,p=1$salt$key`. */
function write({ recipe, salt, key }: Kept): string {
  const cost =
    recipe.kind === "argon2id"
      ? `v=19$m=${recipe.memory},t=${recipe.passes},p=${recipe.parallelism}`
      : `ln=${recipe.ln},r=${recipe.r},p=${recipe.p}`;
  return `$${recipe.kind}$${cost}$${encodeText(salt)}$${encodeText(key)}`;
}

const argon2Notation = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;
const scryptNotation = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w+/]+)\$([\w+/]+)$/;

function read(hash: string): Kept | undefined {
  const formatRecipe = (recipe: PasswordRecipe, salt = "", key = ""): Kept => ({
    recipe,
    salt: Buffer.from(salt, "base64"),
    key: Buffer.from(key, "base64"),
  });
  const [, memory, passes, parallelism, ...argon2] = argon2Notation.exec(hash) ?? [];
  if (memory) {
    const cost = { memory: Number(memory), passes: Number(passes), parallelism: Number(parallelism) };
    return formatRecipe({ kind: "argon2id", ...cost }, ...argon2);
  }
  const [, ln, r, p, ...scrypt] = scryptNotation.exec(hash) ?? [];
  if (ln) return formatRecipe({ kind: "scrypt", ln: Number(ln), r: Number(r), p: Number(p) }, ...scrypt);
  // As better-auth writes them: `salt:key` in hex, the salt used as the text that it is.
  const [, salt, key] = /^([0-9a-f]+):([0-9a-f]+)$/.exec(hash) ?? [];
  if (!salt || !key) return undefined;
  return { recipe: { kind: "scrypt", ln: 14, r: 16, p: 1 }, salt: Buffer.from(salt), key: Buffer.from(key, "hex") };
}

/**
 * How passwords are kept. A hash says how it was made; one that is not made as of today is made anew when its password is
 * next given. `here` is the database, or the transaction that is open.
 */
export function createPasswordHashing(here: () => Pick<Database, "update">, log: Log, current = standard) {
  async function hash(password: string): Promise<string> {
    const salt = crypto.randomBytes(saltBytes);
    const key = await derive(password, { recipe: current, salt, length: keyBytes });
    return write({ recipe: current, salt, key });
  }
  return {
    hash,
    async verify({ hash: text, password }: { hash: string; password: string }): Promise<boolean> {
      const kept = read(text);
      if (!kept) return false;
      const { recipe, salt } = kept;
      const key = await derive(password, { recipe, salt, length: kept.key.length });
      if (!crypto.timingSafeEqual(key, kept.key)) return false;
      if (JSON.stringify(recipe) !== JSON.stringify(current)) {
        const renewed = await hash(password);
        // Only while it is still this one: it may be changed at the same moment.
        await here()
          .update(account)
          .set({ password: renewed })
          .where(eq(account.password, text))
          .catch((error: unknown) =>
            log.warn({ error: redactError(error) }, "A password's hash could not be renewed."),
          );
      }
      return true;
    },
  };
}
