import { createContext, useContext } from "react";
import type { Calls, Overview } from "./calls.ts";

/** What every part of the start page knows: the store, the requests, and how to load the store again. */
export type Home = { overview: Overview; calls: Calls; reload: () => Promise<unknown> };

export const HomeContext = createContext<Home | undefined>(undefined);

export function useHome(): Home {
  const home = useContext(HomeContext);
  if (!home) throw new Error("A part of the start page is shown outside of it.");
  return home;
}
