import { z } from "zod";
import { describeIssue } from "../../shared/words.ts";

/** A field that who runs the server has given to users, beside those that every user has. */
export type UserField = {
  name: string;
  /** What pages call it: the name in words, where nothing else is declared. */
  label: string;
  type: "string" | "number" | "boolean";
  /** Whoever signs up by e-mail must give it, unless it has a default. */
  required: boolean;
  /** False: no client may set it of itself; platform admins do. */
  input: boolean;
  /** What a user has who gave nothing. */
  default?: string | number | boolean | undefined;
};

const fieldsMax = 20;
/** A browser's copy of its session carries them, and all its cookies must fit into the header of a request. */
const textBytesMax = 200;
const labelMax = 100;
const nameShape = /^[a-z][A-Za-z0-9_]{0,39}$/;

/** A user's own fields, what calls carry beside them, what is joined to a user, and what the clients take for themselves. */
const taken = new Set(
  `id name email emailVerified credentialsVersion image username displayUsername isAnonymous role banned banReason banExpires createdAt updatedAt
  extra data password newPassword currentPassword newEmail token callbackURL rememberMe provider userId fetchOptions query
  user users session sessions account accounts verification member members organization team invitation prototype`
    .split(/\s+/)
    .map((name) => name.toLowerCase()),
);

const Definition = z.strictObject({
  label: z.string().trim().min(1).max(labelMax).optional(),
  type: z.enum(["string", "number", "boolean"]),
  required: z.boolean().default(false),
  input: z.boolean().default(true),
  default: z.union([z.string(), z.number(), z.boolean()]).optional(),
});

/** A name as people write it: `companyName` is "Company name". */
const formatName = (name: string): string => {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").split(/[ _]+/);
  const said = words.map((word) => (/^[A-Z0-9]{2,}$/.test(word) ? word : word.toLowerCase())).join(" ");
  return said.charAt(0).toUpperCase() + said.slice(1);
};

/** Why a value cannot be kept in a field; undefined where it can. Nothing is no value. */
export function findFieldFault({ type }: Pick<UserField, "type">, value: unknown): string | undefined {
  if (typeof value !== type || (type === "number" && !Number.isFinite(value)))
    return `must be a ${type === "string" ? "text" : type}`;
  if (typeof value !== "string") return undefined;
  if (value.includes("\0") || !value.isWellFormed()) return "has characters that cannot be kept";
  // As JSON, in which a control character takes six.
  if (Buffer.byteLength(JSON.stringify(value)) - 2 > textBytesMax) return "is too long";
  return undefined;
}

/** The fields that a text of JSON declares, or what is wrong with it. */
export function readUserFields(text: string): { value: UserField[] } | { fault: string } {
  let declared: unknown;
  try {
    declared = JSON.parse(text);
  } catch {
    return { fault: "is not valid JSON" };
  }
  if (typeof declared !== "object" || declared === null || Array.isArray(declared))
    return { fault: 'must be an object, as {"company":{"type":"string"}}' };
  const entries = Object.entries(declared);
  if (entries.length > fieldsMax) return { fault: `has more than ${fieldsMax} fields` };
  const fields: UserField[] = [];
  for (const [name, definition] of entries) {
    if (!nameShape.test(name))
      return {
        fault: `${JSON.stringify(name.slice(0, 50))}: a name begins with a small letter, then at most 39 letters, digits and _`,
      };
    if (name in {} || taken.has(name.toLowerCase())) return { fault: `${name}: this name is taken` };
    const result = Definition.safeParse(definition);
    if (!result.success) {
      const said = result.error.issues.map((issue) => `${[name, ...issue.path].join(".")}: ${describeIssue(issue)}`);
      return { fault: said.join("; ") };
    }
    const field = { name, ...result.data, label: result.data.label ?? formatName(name) };
    const wrong = field.default === undefined ? undefined : findFieldFault(field, field.default);
    if (wrong !== undefined) return { fault: `${name}.default ${wrong}` };
    if (field.required && !field.input && field.default === undefined)
      return { fault: `${name}: is required, but nobody may set it and it has no default` };
    if (fields.some((one) => one.name.toLowerCase() === name.toLowerCase()))
      return { fault: `${name}: two fields have this name` };
    fields.push(field);
  }
  return { value: fields };
}
