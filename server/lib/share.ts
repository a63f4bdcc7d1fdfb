type Turn<V> = { running: Promise<V>; next: Promise<V> | undefined };

/**
 * Ask one thing for all who want to know it: who asks while an answer is on its way is answered by the next one, with all
 * who ask meanwhile, so that no answer is older than its question.
 */
export function shareAsks<V>(ask: (key: string) => Promise<V>): (key: string) => Promise<V> {
  const turns = new Map<string, Turn<V>>();
  function begin(key: string): Promise<V> {
    const turn: Turn<V> = { running: ask(key), next: undefined };
    turns.set(key, turn);
    const end = () => {
      if (turn.next === undefined) turns.delete(key);
    };
    turn.running.then(end, end);
    return turn.running;
  }
  return (key) => {
    const turn = turns.get(key);
    if (!turn) return begin(key);
    const again = () => begin(key);
    turn.next ??= turn.running.then(again, again);
    return turn.next;
  };
}
