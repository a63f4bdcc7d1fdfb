import { useI18n } from "../i18n/i18n.tsx";
import { Field, TickField } from "./Field.tsx";

type BusinessValues = { business: string; company: string; tax_id: string };
type Props = {
  values: BusinessValues;
  errors: { [K in keyof BusinessValues]?: string | undefined };
  change: (patch: Partial<BusinessValues>) => void;
  /** The buyer has settled on something that may change the tax. */
  settle: (patch: Partial<BusinessValues>) => void;
};

/** Whether a business buys, and which. */
export function Business({ values, errors, change, settle }: Props) {
  const { messages } = useI18n();
  return (
    <>
      <TickField
        label={messages.business}
        name="business"
        checked={values.business === "true"}
        onChange={({ target }) => {
          const patch = { business: String(target.checked) };
          change(patch);
          if (!target.checked) settle(patch);
        }}
      />
      {values.business === "true" && (
        <>
          <Field
            label={messages.company}
            name="company"
            autoComplete="organization"
            required
            value={values.company}
            error={errors.company}
            onChange={({ target }) => change({ company: target.value })}
          />
          <Field
            label={messages.tax_id}
            name="tax_id"
            autoComplete="off"
            optional={messages.optional}
            value={values.tax_id}
            error={errors.tax_id}
            onChange={({ target }) => change({ tax_id: target.value })}
            onBlur={() => settle({})}
          />
        </>
      )}
    </>
  );
}
