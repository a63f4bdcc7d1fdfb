import type { ReactNode } from "react";
import { GhostLine } from "../parts/Ghost.tsx";
import { Notice } from "../parts/Notice.tsx";

type Props = { label: string; value: readonly unknown[] | undefined; fault: string | undefined; none: string };

/** A list that is on its way, could not be had, is empty, or is there. */
export function AsyncList({ label, value, fault, none, children }: Props & { children: ReactNode }) {
  if (fault) return <Notice tone="fault">{fault}</Notice>;
  if (value?.length === 0) return <p className="soft">{none}</p>;
  return (
    <ul className="items" aria-label={label} aria-busy={!value}>
      {value ? (
        children
      ) : (
        <li aria-hidden="true">
          <GhostLine width="60%" height="2.25rem" />
        </li>
      )}
    </ul>
  );
}
