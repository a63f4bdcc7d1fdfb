import { type FormEvent, type RefObject, useEffect, useRef, useState } from "react";
import type { Failure } from "../api.ts";

export type Faults<Values> = Partial<Record<keyof Values | "form", string>>;

/** What a form of text fields needs: its values, its faults, the focus on the first fault, and one sending at a time. */
export function useForm<Values extends Record<string, string>>(initial: Values) {
  const [values, setValues] = useState(initial);
  const [faults, setFaults] = useState<Faults<Values>>({});
  const [busy, setBusy] = useState(false);
  const ref: RefObject<HTMLFormElement | null> = useRef(null);

  useEffect(() => {
    if (Object.keys(faults).length > 0) ref.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [faults]);

  return {
    ref,
    values,
    faults,
    busy,
    set: (changed: Partial<Values>) => setValues((before) => ({ ...before, ...changed })),
    /** A refusal beside the field that is meant: the service names the fault, not the field. */
    faultsOf: (failure: Failure, fields: [RegExp, keyof Values][]): Faults<Values> => {
      const found = failure.status === 429 ? undefined : fields.find(([name]) => name.test(failure.error));
      return { [found?.[1] ?? "form"]: getSentence(failure) } as Faults<Values>;
    },
    /** The properties of the field of that name. */
    field: <Name extends keyof Values & string>(name: Name) => ({
      name,
      value: values[name],
      error: faults[name],
      onChange: ({ target }: { target: { value: string } }) =>
        setValues((before) => ({ ...before, [name]: target.value })),
    }),
    /** Checks, and where nothing is wrong sends; both answer what is wrong. */
    submit:
      (check: (values: Values) => Faults<Values>, send: (values: Values) => Promise<Faults<Values> | undefined>) =>
      async (event: FormEvent): Promise<void> => {
        event.preventDefault();
        if (busy) return;
        const found = check(values);
        const wrong = Object.values(found).some((fault) => fault !== undefined);
        setFaults(wrong ? found : {});
        if (wrong) return;
        setBusy(true);
        const refused = await send(values);
        setBusy(false);
        if (refused) setFaults(refused);
      },
  };
}

/** What is wrong with an e-mail address, as far as a page can tell. */
export const findAddressFault = (text: string): string | undefined =>
  /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text.trim()) ? undefined : "Write it like name@example.com.";

const passwordLengthMin = 8;
/** What is wrong with a password that is being chosen, as far as a page can tell. */
export const findPasswordFault = (text: string): string | undefined =>
  text.length < passwordLengthMin ? `Use at least ${passwordLengthMin} characters.` : undefined;

/** A refusal as a sentence for people. */
export function getSentence({ status, detail, retry_after }: Failure): string {
  if (status !== 429) return detail;
  if (retry_after === undefined) return "Too many tries. Wait a little, then try again.";
  const minutes = Math.ceil(retry_after / 60);
  const wait = retry_after < 90 ? `${retry_after} seconds` : `${minutes} minutes`;
  return `Too many tries. Try again in ${wait}.`;
}

/** A text in a query: also what encodeURIComponent leaves be, though the service takes it for unsafe in a path. */
export const encodeText = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*~]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

/** A path with the page to go to afterwards. */
export function addNext(path: string, next: string | null): string {
  if (next === null) return path.includes("?") ? path : `${path}?`;
  return `${path}${path.includes("?") ? "&" : "?"}next=${encodeText(next)}`;
}
