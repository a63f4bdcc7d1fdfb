import type { Checkout } from "../api.ts";
import { type FormAnswers, getAnswerKey } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { Field, SelectField, TextField, TickField } from "./Field.tsx";

type Asked = Checkout["attached_custom_fields"][number];
type Props = {
  asked: Asked[];
  values: FormAnswers;
  errors: { [key in keyof FormAnswers]?: string | undefined };
  change: (patch: FormAnswers) => void;
};

/** The date of a bound, which is in seconds since 1970. */
const getDay = (seconds: number | undefined): string | undefined =>
  seconds === undefined ? undefined : new Date(seconds * 1000).toISOString().slice(0, 10);

/** What the seller asks besides the usual: the custom fields of the chosen product, in the seller's order. */
export default function Questions({ asked, values, errors, change }: Props) {
  const { messages } = useI18n();
  return asked.map(({ custom_field: field, required }) => {
    const { slug, name, properties } = field;
    const key = getAnswerKey(slug);
    const value = values[key] ?? "";
    const common = {
      label: properties.form_label ?? name,
      hint: properties.form_help_text,
      error: errors[key],
      name: key,
      required,
      optional: required ? undefined : messages.optional,
    };
    const typed = {
      ...common,
      value,
      placeholder: properties.form_placeholder,
      onChange: ({ target }: { target: { value: string } }) => change({ [key]: target.value }),
    };
    if (field.type === "text") {
      return field.properties.textarea ? <TextField key={slug} rows={4} {...typed} /> : <Field key={slug} {...typed} />;
    }
    if (field.type === "number") return <Field key={slug} inputMode="numeric" {...typed} />;
    if (field.type === "date") {
      const { ge, le } = field.properties;
      return <Field key={slug} type="date" min={getDay(ge)} max={getDay(le)} {...typed} />;
    }
    if (field.type === "checkbox") {
      return (
        <TickField
          key={slug}
          {...common}
          checked={value === "true"}
          onChange={({ target }) => change({ [key]: String(target.checked) })}
        />
      );
    }
    const { placeholder, ...choice } = typed;
    return (
      <SelectField key={slug} {...choice}>
        <option value="">{placeholder ?? messages.choose}</option>
        {field.properties.options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </SelectField>
    );
  });
}
