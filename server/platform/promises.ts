/** Wait for the end of both, also where one fails: then it has failed, and nothing goes on unseen. */
export async function allSettledOrThrow<A, B>(a: Promise<A>, b: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([a, b]);
  return [await a, await b];
}
