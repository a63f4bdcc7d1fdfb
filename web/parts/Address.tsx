import { useMemo } from "react";
import { hasStates, sellableCountries, statesOf } from "../../shared/countries.ts";
import type { AddressField } from "../checkout-form.ts";
import { language } from "../language.ts";
import { Field, SelectField } from "./Field.tsx";

type Mode = "required" | "optional" | "disabled";
type Props = {
  modes: Record<AddressField, Mode>;
  values: Record<AddressField, string>;
  errors: { [K in AddressField]?: string | undefined };
  change: (patch: Partial<Record<AddressField, string>>) => void;
  /** The buyer has settled on something that may change the tax. */
  settle: (patch: Partial<Record<AddressField, string>>) => void;
};

function useCountries(): { code: string; name: string }[] {
  return useMemo(() => {
    const names = new Intl.DisplayNames([language, "en"], { type: "region" });
    return sellableCountries
      .map((code) => ({ code, name: names.of(code) ?? code }))
      .sort((a, b) => a.name.localeCompare(b.name));
  }, []);
}

/** The fields of a billing address that are asked for, in the order people write them. */
export function Address({ modes, values, errors, change, settle }: Props) {
  const countries = useCountries();
  const common = (field: AddressField) => ({
    name: field,
    value: values[field],
    error: errors[field],
    required: modes[field] === "required",
    optional: modes[field] === "optional",
    onChange: ({ target }: { target: { value: string } }) => change({ [field]: target.value }),
  });
  const states = hasStates(values.country) ? statesOf[values.country] : undefined;
  const pick = (field: AddressField) => ({
    onChange: ({ target }: { target: { value: string } }) => {
      // A state belongs to its country.
      const patch = field === "country" ? { country: target.value, state: "" } : { [field]: target.value };
      change(patch);
      settle(patch);
    },
  });
  return (
    <>
      <SelectField label="Country" {...common("country")} {...pick("country")} autoComplete="billing country">
        <option value="">Choose a country</option>
        {countries.map(({ code, name }) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </SelectField>
      {modes.line1 !== "disabled" && (
        <Field label="Street and number" {...common("line1")} autoComplete="billing address-line1" />
      )}
      {modes.line2 !== "disabled" && (
        <Field label="Second line" {...common("line2")} autoComplete="billing address-line2" />
      )}
      {(modes.city !== "disabled" || modes.postal_code !== "disabled") && (
        <div className="pair">
          {modes.postal_code !== "disabled" && (
            <Field label="Postal code" {...common("postal_code")} autoComplete="billing postal-code" />
          )}
          {modes.city !== "disabled" && (
            <Field label="City" {...common("city")} autoComplete="billing address-level2" />
          )}
        </div>
      )}
      {modes.state !== "disabled" &&
        (states ? (
          <SelectField
            label={values.country === "US" ? "State" : "Province"}
            {...common("state")}
            {...pick("state")}
            autoComplete="billing address-level1"
          >
            <option value="">Choose</option>
            {Object.entries(states).map(([code, name]) => (
              <option key={code} value={`${values.country}-${code}`}>
                {name}
              </option>
            ))}
          </SelectField>
        ) : (
          <Field label="State or region" {...common("state")} autoComplete="billing address-level1" />
        ))}
    </>
  );
}
