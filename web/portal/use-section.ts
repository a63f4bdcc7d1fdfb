import { useEffect, useRef, useSyncExternalStore } from "react";

/** One section of the portal. An address names it after `#`, or one of the parts that stand in it. */
export type Section = { id: string; title: string; parts: readonly string[] };

const readHash = (): string => location.hash.slice(1);
function subscribe(listener: () => void): () => void {
  addEventListener("hashchange", listener);
  return () => removeEventListener("hashchange", listener);
}

/** The page begins at its top, unless the part is a later one of its section. The keyboard goes on from the part's heading. */
function showPart({ parts }: Section, name: string, movesFocus: boolean): void {
  const part = document.getElementById(parts.includes(name) ? name : (parts[0] ?? ""));
  const heading = part?.querySelector("h2");
  if (movesFocus) {
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }
  if (part && part.id !== parts[0]) part.scrollIntoView();
  else if (movesFocus) scrollTo(0, 0);
}

/** The section that the address names, or the given one where it names none. */
export function useSection(sections: readonly Section[], initialId: string): Section | undefined {
  const name = useSyncExternalStore(subscribe, readHash);
  const find = (wanted: string): Section | undefined =>
    sections.find(({ id, parts }) => id === wanted || parts.includes(wanted));
  const current = find(name) ?? find(initialId) ?? sections[0];
  const shown = useRef<string>(undefined);
  useEffect(() => {
    if (!current || shown.current === name) return;
    // On arrival the page is read from its beginning.
    showPart(current, name, shown.current !== undefined);
    shown.current = name;
  }, [current, name]);
  return current;
}
