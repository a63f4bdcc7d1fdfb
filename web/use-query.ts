import { useCallback, useEffect, useRef, useState } from "react";
import type { Failure, Result } from "./api.ts";

export type QueryState<T> = { value: T | undefined; failure: Failure | undefined };
type Reloadable<T> = QueryState<T> & { etag: string | undefined; reload: () => Promise<void> };

/**
 * Something asked once, and again when told; what was answered stays while it is asked again. Where it is to be `fresh`, nothing
 * stays while another thing is asked.
 */
export function useQuery<T>(ask: () => Promise<Result<T>>, { fresh = false } = {}): Reloadable<T> {
  const [value, setValue] = useState<T>();
  const [etag, setEtag] = useState<string>();
  const [failure, setFailure] = useState<Failure>();
  const latest = useRef(0);
  const reload = useCallback(async (): Promise<void> => {
    latest.current += 1;
    const asked = latest.current;
    const answer = await ask();
    // An earlier question may be answered later.
    if (asked !== latest.current) return;
    if (answer.ok) {
      setValue(answer.value);
      setEtag(answer.etag);
    }
    setFailure(answer.ok ? undefined : answer.failure);
  }, [ask]);
  useEffect(() => {
    if (fresh) setValue(undefined);
    void reload();
  }, [reload, fresh]);
  return { value, failure, etag, reload };
}
