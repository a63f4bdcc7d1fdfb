import type { Failure } from "../api.ts";
import type { OwnField, ServerData, User } from "../auth-client.ts";
import { Field, TickField } from "../parts/Field.tsx";
import { getSentence } from "./form.ts";

/** What people are asked for beside their name, as whoever runs this server has set it. */

type Values = Record<string, string>;
type Form = {
  values: Values;
  faults: Partial<Values>;
  set: (changed: Values) => void;
  field: (name: string) => object;
};

// Names of ours apart, so that no declared field can be taken for one of them.
const buildKey = (name: string): string => `own.${name}`;

/** The fields as they are shown at first: what is known of the person, else what it is without their word. */
export const startOwn = (fields: OwnField[], user?: User & Record<string, unknown>): Values =>
  Object.fromEntries(
    fields.map(({ name, type, default: usual }) => {
      const value = user ? user[name] : usual;
      if (type === "boolean") return [buildKey(name), value === true ? "yes" : ""];
      return [buildKey(name), value === null || value === undefined ? "" : String(value)];
    }),
  );

export function findOwnFaults(fields: OwnField[], values: Values): Values {
  const faults: Values = {};
  for (const { name, label, type, required, default: usual } of fields) {
    const text = (values[buildKey(name)] ?? "").trim();
    if (text === "" && type !== "boolean" && required && usual === null) faults[buildKey(name)] = `${label} is needed.`;
    if (text !== "" && type === "number" && !Number.isFinite(Number(text)))
      faults[buildKey(name)] = "Write a number, like 12.5.";
  }
  return faults;
}

/** What is sent. What was left blank is not said at sign-up, and emptied later. */
export function readOwn(fields: OwnField[], values: Values, { isNew }: { isNew: boolean }): ServerData {
  const given: ServerData = {};
  for (const { name, type, required, default: usual } of fields) {
    const text = (values[buildKey(name)] ?? "").trim();
    if (type === "boolean") given[name] = text !== "";
    else if (text !== "") given[name] = type === "number" ? Number(text) : text;
    else if (!isNew) given[name] = required ? usual : null;
  }
  return given;
}

/** A refusal beside the field that it names first; undefined where it is about none. */
export function findOwnRefusal(fields: OwnField[], failure: Failure): Values | undefined {
  const sentence = getSentence(failure);
  const field = failure.status === 400 ? fields.find(({ name }) => sentence.startsWith(`${name} `)) : undefined;
  return field && { [buildKey(field.name)]: `${field.label}${sentence.slice(field.name.length)}.` };
}

export function OwnFields({ fields, form }: { fields: OwnField[]; form: Form }) {
  return fields.map(({ name, label, type, required }) =>
    type === "boolean" ? (
      <TickField
        key={name}
        label={label}
        name={name}
        checked={form.values[buildKey(name)] !== ""}
        error={form.faults[buildKey(name)]}
        onChange={({ target }) => form.set({ [buildKey(name)]: target.checked ? "yes" : "" })}
      />
    ) : (
      <Field
        key={name}
        label={label}
        optional={!required}
        required={required}
        inputMode={type === "number" ? "decimal" : undefined}
        {...form.field(buildKey(name))}
        name={name}
      />
    ),
  );
}
