import { Button } from "./Button.tsx";
import { Field } from "./Field.tsx";

type Props = {
  discount: { name: string; code: string | null } | null;
  code: string;
  error?: string | undefined;
  busy: boolean;
  change: (code: string) => void;
  apply: (code: string | null) => Promise<void>;
};

/** The code that makes it cheaper: entered, or applied and removable. */
export function Discount({ discount, code, error, busy, change, apply }: Props) {
  const submit = (): void => {
    if (code.trim() !== "") void apply(code.trim());
  };
  if (discount) {
    return (
      <div className="field">
        <span className="legend">Discount code</span>
        <div className="applied">
          <span>
            <strong>{discount.code ?? discount.name}</strong> is applied
          </span>
          <button type="button" className="plain" onClick={() => void apply(null)}>
            Remove
          </button>
        </div>
      </div>
    );
  }
  return (
    <div className="with-button">
      <Field
        label="Discount code"
        name="discount_code"
        optional
        autoComplete="off"
        autoCapitalize="characters"
        value={code}
        error={error}
        onChange={({ target }) => change(target.value)}
        onKeyDown={(event) => {
          // Enter here means this code, not the whole purchase.
          if (event.key !== "Enter") return;
          event.preventDefault();
          submit();
        }}
      />
      <Button quiet busy={busy && code.trim() !== ""} onClick={submit}>
        Apply
      </Button>
    </div>
  );
}
