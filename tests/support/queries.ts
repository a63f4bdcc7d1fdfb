import type { Floe } from "./floe.ts";

type Ask = (...args: unknown[]) => unknown;
type Client = { query?: Ask; unsafe?: Ask };

/** What a piece of work answers, and how many queries the database was asked meanwhile, outside of transactions. */
export async function countQueries<T>({ deps }: Pick<Floe, "deps">, work: () => Promise<T>): Promise<[T, number]> {
  const { $client } = deps.db as unknown as { $client: Client };
  // One of PGlite, one of the driver of PostgreSQL.
  const name = $client.unsafe ? "unsafe" : "query";
  const original = $client[name] as Ask;
  let queries = 0;
  $client[name] = (...args) => {
    // Which keys were used is written every few seconds, whoever asks what meanwhile.
    if (!/^update "\w+" set "lastRequest"/.test(String(args[0]))) queries += 1;
    return original.apply($client, args);
  };
  try {
    return [await work(), queries];
  } finally {
    $client[name] = original;
  }
}
