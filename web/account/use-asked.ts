import { useCallback, useEffect, useRef, useState } from "react";
import type { Result } from "../api.ts";
import { sentenceOf } from "./form.ts";

/** Something asked of the service once, and again when told; `value` stays while it is asked again. */
export function useAsked<T>(ask: () => Promise<Result<T>>): {
  value: T | undefined;
  fault: string | undefined;
  reload: () => Promise<void>;
} {
  const [value, setValue] = useState<T>();
  const [fault, setFault] = useState<string>();
  const latest = useRef(0);
  const reload = useCallback(async (): Promise<void> => {
    latest.current += 1;
    const asked = latest.current;
    const answer = await ask();
    if (asked !== latest.current) return;
    if (answer.ok) setValue(answer.value);
    setFault(answer.ok ? undefined : sentenceOf(answer.failure));
  }, [ask]);
  useEffect(() => {
    setValue(undefined);
    void reload();
  }, [reload]);
  return { value, fault, reload };
}
