import type { ComponentProps } from "react";
import { statesOf } from "../../shared/states.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { SelectField } from "./Field.tsx";

type Props = Omit<ComponentProps<typeof SelectField>, "label" | "children"> & { country: keyof typeof statesOf };

/** The states of a country where an address is not complete without one. */
export default function StateSelect({ country, ...field }: Props) {
  const { messages } = useI18n();
  return (
    <SelectField label={country === "US" ? messages.state : messages.province} {...field}>
      <option value="">{messages.choose}</option>
      {Object.entries(statesOf[country]).map(([code, name]) => (
        <option key={code} value={`${country}-${code}`}>
          {name}
        </option>
      ))}
    </SelectField>
  );
}
