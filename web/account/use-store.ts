import { useEffect, useSyncExternalStore } from "react";
import { type KnownError, type Session, type Store, session } from "../auth-client.ts";

/** What is known of a store, kept up to date. */
export const useStore = <T>(store: Store<T>): KnownError<T> => useSyncExternalStore(store.subscribe, store.get);

/** Whoever is signed in; undefined while that is not known, and for the moment until the sign-in page has come. */
export function useSignedIn(): Session | undefined {
  const { pending, value, failure } = useStore(session);
  const out = !pending && value === null && (failure === null || failure.status === 401);
  useEffect(() => {
    if (out) location.replace(`/sign-in?next=${encodeURIComponent(location.pathname + location.search)}`);
  }, [out]);
  return value ?? undefined;
}
