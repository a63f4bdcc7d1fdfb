import { Suspense, useMemo } from "react";
import { hasStates, sellableCountries } from "../../shared/countries.ts";
import type { AddressField } from "../checkout-form.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { createLazyPart } from "../reload.ts";
import { Field, SelectField } from "./Field.tsx";
import { GhostLine } from "./Ghost.tsx";

const StateSelect = createLazyPart(() => import("./StateSelect.tsx"));

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
  const { locale } = useI18n();
  return useMemo(() => {
    const names = new Intl.DisplayNames([locale, "en"], { type: "region" });
    return sellableCountries
      .map((code) => ({ code, name: names.of(code) ?? code }))
      .sort((a, b) => a.name.localeCompare(b.name, locale));
  }, [locale]);
}

/** The fields of a billing address that are asked for, in the order people write them. */
export function Address({ modes, values, errors, change, settle }: Props) {
  const countries = useCountries();
  const { messages } = useI18n();
  const buildCommon = (field: AddressField) => ({
    name: field,
    value: values[field],
    error: errors[field],
    required: modes[field] === "required",
    optional: modes[field] === "optional" ? messages.optional : undefined,
    onChange: ({ target }: { target: { value: string } }) => change({ [field]: target.value }),
  });
  const { country } = values;
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
      <SelectField
        label={messages.country}
        {...buildCommon("country")}
        {...pick("country")}
        autoComplete="billing country"
      >
        <option value="">{messages.choose_country}</option>
        {countries.map(({ code, name }) => (
          <option key={code} value={code}>
            {name}
          </option>
        ))}
      </SelectField>
      {modes.line1 !== "disabled" && (
        <Field label={messages.line1} {...buildCommon("line1")} autoComplete="billing address-line1" />
      )}
      {modes.line2 !== "disabled" && (
        <Field label={messages.line2} {...buildCommon("line2")} autoComplete="billing address-line2" />
      )}
      {(modes.city !== "disabled" || modes.postal_code !== "disabled") && (
        <div className="pair">
          {modes.postal_code !== "disabled" && (
            <Field
              label={country === "US" ? messages.zip_code : messages.postal_code}
              {...buildCommon("postal_code")}
              autoComplete="billing postal-code"
            />
          )}
          {modes.city !== "disabled" && (
            <Field label={messages.city} {...buildCommon("city")} autoComplete="billing address-level2" />
          )}
        </div>
      )}
      {modes.state !== "disabled" &&
        (hasStates(country) ? (
          <Suspense fallback={<GhostLine width="100%" height="4.5rem" />}>
            <StateSelect
              country={country}
              {...buildCommon("state")}
              {...pick("state")}
              autoComplete="billing address-level1"
            />
          </Suspense>
        ) : (
          <Field label={messages.region} {...buildCommon("state")} autoComplete="billing address-level1" />
        ))}
    </>
  );
}
