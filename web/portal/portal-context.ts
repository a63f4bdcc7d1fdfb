import { createContext, useContext } from "react";
import type { Me, Portal, Seller } from "./calls.ts";

/** What every part of a customer's own page knows. */
export type PortalData = {
  portal: Portal;
  seller: Seller;
  /** The customer; null to a plain member of a team, who has nothing to do with what it pays. */
  me: Me | null;
  /** Whether the page has a main button of its own, beside which those of the benefits stay back. */
  isAside?: boolean;
  /** Asks everything again, once something was changed. */
  reload: () => Promise<unknown>;
};

export const PortalContext = createContext<PortalData | undefined>(undefined);

export function usePlace(): PortalData {
  const place = useContext(PortalContext);
  if (!place) throw new Error("There is no place around this part.");
  return place;
}

/** The customer whose place it is, for what members of a team do not see. */
export function useMe(): Me {
  const { me } = usePlace();
  if (!me) throw new Error("A member of a team was shown what the team pays.");
  return me;
}
