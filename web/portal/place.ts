import { createContext, useContext } from "react";
import type { Me, Portal, Seller } from "./calls.ts";

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
