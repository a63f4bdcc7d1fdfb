import { createContext, useCallback, useContext, useEffect, useRef, useState } from "react";
import type { Result } from "../api.ts";
import type { Failure, Me, Portal, Seller } from "./calls.ts";

/** What every part of a customer's own page knows. */
export type Place = {
  portal: Portal;
  seller: Seller;
  me: Me;
  /** Asks everything again, once something was changed. */
  reload: () => Promise<unknown>;
};

export const PlaceContext = createContext<Place | undefined>(undefined);

export function usePlace(): Place {
  const place = useContext(PlaceContext);
  if (!place) throw new Error("There is no place around this part.");
  return place;
}

/** Something asked once, and again when told; what was answered stays while it is asked again. */
export function useAsked<T>(ask: () => Promise<Result<T>>) {
  const [value, setValue] = useState<T>();
  const [failure, setFailure] = useState<Failure>();
  const latest = useRef(0);
  const reload = useCallback(async (): Promise<void> => {
    latest.current += 1;
    const asked = latest.current;
    const answer = await ask();
    // An earlier question may be answered later.
    if (asked !== latest.current) return;
    if (answer.ok) setValue(answer.value);
    setFailure(answer.ok ? undefined : answer.failure);
  }, [ask]);
  useEffect(() => void reload(), [reload]);
  return { value, failure, reload };
}
export type Asked<T> = { value: T | undefined; failure: Failure | undefined };

export const cardName = ({ brand, last4 }: { brand: string; last4: string }): string =>
  `${brand.charAt(0).toUpperCase()}${brand.slice(1)} •••• ${last4}`;
