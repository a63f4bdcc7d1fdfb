/** Wait, but no longer than until the signal ends everything. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const finishRun = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", finishRun);
      resolve();
    };
    const timer = setTimeout(finishRun, ms);
    signal.addEventListener("abort", finishRun);
    if (signal.aborted) finishRun();
  });
