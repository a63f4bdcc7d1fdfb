import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { type Failure, type Overview, openCalls, readOrganization, storeOrganization } from "./calls.ts";

const pollMs = 15_000;
/** After failures the server is asked less often, at the least once in two minutes. */
const pollMsMax = 120_000;

export type OverviewState = {
  overview: Overview | undefined;
  failure: Failure | undefined;
  reload: () => Promise<number>;
  choose: (organization_id: string | undefined) => void;
};

/** What was loaded last: a page that is opened next shows it until the server has answered. */
let lastOverview: Overview | undefined;

/** The overview of the chosen organization, loaded again every few seconds while the page is visible. */
export function useOverview(): OverviewState {
  const [organization_id, setOrganization] = useState(readOrganization);
  const [overview, setOverview] = useState(lastOverview);
  const [failure, setFailure] = useState<Failure>();
  const calls = useMemo(() => openCalls(organization_id), [organization_id]);
  const latest = useRef(0);
  const reload = useCallback(async (): Promise<number> => {
    latest.current += 1;
    const request = latest.current;
    const answer = await calls.overview();
    // A later request may be answered earlier.
    if (request === latest.current) {
      if (answer.ok) {
        lastOverview = answer.value;
        setOverview(answer.value);
      }
      setFailure(answer.ok ? undefined : answer.failure);
    }
    return answer.ok ? 200 : answer.failure.status;
  }, [calls]);
  const choose = useCallback((id: string | undefined): void => {
    storeOrganization(id);
    setOrganization(id);
    lastOverview = undefined;
    setOverview(undefined);
    setFailure(undefined);
  }, []);
  usePolling(reload);
  return { overview, failure, reload, choose };
}

/** Call now, and then again and again: not while the page is hidden, and no more once the session has ended. */
function usePolling(load: () => Promise<number>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs = pollMs;
    let isOver = false;
    const poll = async (): Promise<void> => {
      clearTimeout(timer);
      const status = await load();
      if (status === 401) isOver = true;
      if (isOver || document.hidden) return;
      waitMs = status === 200 ? pollMs : Math.min(waitMs * 2, pollMsMax);
      clearTimeout(timer);
      timer = setTimeout(() => void poll(), waitMs);
    };
    const wake = (): void => {
      if (!document.hidden && !isOver) void poll();
    };
    document.addEventListener("visibilitychange", wake);
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", wake);
    };
  }, [load]);
}
