import type { Floe } from "./floe.ts";

type Client = { query(...args: unknown[]): Promise<unknown> };

/** What a piece of work answers, and how many queries the embedded database was asked meanwhile. */
export async function countQueries<T>({ deps }: Pick<Floe, "deps">, work: () => Promise<T>): Promise<[T, number]> {
  const { $client } = deps.db as never as { $client: Client };
  const original = $client.query.bind($client);
  let queries = 0;
  $client.query = (...args) => {
    queries += 1;
    return original(...args);
  };
  try {
    return [await work(), queries];
  } finally {
    $client.query = original;
  }
}
