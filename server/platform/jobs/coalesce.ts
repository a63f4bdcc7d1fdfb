/** The end of what this process has at hand now: whoever asks in the same moment has asked by then. */
export const waitForTick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Ask once for what several ask for in the same moment: the question is sent once all of them have come, so it is as new to each. */
export function coalesceCalls<K, R>(ask: (key: K) => Promise<R>): (key: K) => Promise<R> {
  const asked = new Map<K, Promise<R>>();
  async function requestLater(key: K): Promise<R> {
    await waitForTick();
    asked.delete(key);
    return ask(key);
  }
  return (key) => {
    const answer = asked.get(key) ?? requestLater(key);
    asked.set(key, answer);
    return answer;
  };
}
