import {
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";

type Common = {
  label: string;
  error?: string | undefined;
  hint?: string | undefined;
  /** What stands behind the label of a field that may be left blank. */
  optional?: string | boolean | undefined;
  /** Id of a text elsewhere that explains this field's fault too. */
  faultId?: string | undefined;
};
type Described = { id: string; "aria-invalid": true | undefined; "aria-describedby": string | undefined };

function Frame({
  label,
  error,
  hint,
  optional,
  faultId,
  children,
}: Common & { children: (ids: Described) => ReactNode }) {
  const id = useId();
  const message = error ?? hint;
  const describing = [message ? `${id}-message` : "", faultId ?? ""].filter((name) => name !== "").join(" ");
  return (
    <div className="field">
      <label htmlFor={id}>
        {label}
        {optional && <span className="optional"> ({optional === true ? "optional" : optional})</span>}
      </label>
      {children({
        id,
        "aria-invalid": error || faultId ? true : undefined,
        "aria-describedby": describing || undefined,
      })}
      {message && (
        <p id={`${id}-message`} className={error ? "message fault" : "message"}>
          {message}
        </p>
      )}
    </div>
  );
}

type FieldProps = Common & Omit<InputHTMLAttributes<HTMLInputElement>, "id"> & { aside?: ReactNode };

/** A labeled input whose fault or hint stands below it. */
export function Field({ label, error, hint, optional, faultId, aside, required, ...input }: FieldProps) {
  return (
    <Frame label={label} error={error} hint={hint} optional={optional} faultId={faultId}>
      {(described) => (
        <span className="control">
          <input {...input} {...described} aria-required={required || undefined} />
          {aside}
        </span>
      )}
    </Frame>
  );
}

type TextProps = Common & Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "id">;

/** A labeled text of several lines; see Field. */
export function TextField({ label, error, hint, optional, faultId, required, ...text }: TextProps) {
  return (
    <Frame label={label} error={error} hint={hint} optional={optional} faultId={faultId}>
      {(described) => (
        <span className="control">
          <textarea {...text} {...described} aria-required={required || undefined} />
        </span>
      )}
    </Frame>
  );
}

type TickProps = Omit<Common, "faultId"> & Omit<InputHTMLAttributes<HTMLInputElement>, "id" | "type">;

/** A box to tick, its label beside it; see Field. */
export function TickField({ label, error, hint, optional, required, ...input }: TickProps) {
  const id = useId();
  const message = error ?? hint;
  return (
    <div className="field">
      <label className="tick">
        <input
          {...input}
          type="checkbox"
          aria-required={required || undefined}
          aria-invalid={error ? true : undefined}
          aria-describedby={message ? id : undefined}
        />
        <span>
          {label}
          {optional && <span className="optional"> ({optional === true ? "optional" : optional})</span>}
        </span>
      </label>
      {message && (
        <p id={id} className={error ? "message fault" : "message"}>
          {message}
        </p>
      )}
    </div>
  );
}

type SelectProps = Common & Omit<SelectHTMLAttributes<HTMLSelectElement>, "id">;

/** A labeled choice; see Field. */
export function SelectField({ label, error, hint, optional, faultId, children, required, ...select }: SelectProps) {
  return (
    <Frame label={label} error={error} hint={hint} optional={optional} faultId={faultId}>
      {(described) => (
        <span className="control select">
          <select {...select} {...described} aria-required={required || undefined}>
            {children}
          </select>
        </span>
      )}
    </Frame>
  );
}
