import type { ReactNode } from "react";

/** A sentence set apart. A fault is read out at once, anything else when there is a pause. */
export function Notice({
  tone = "note",
  id,
  children,
}: {
  tone?: "note" | "good" | "fault";
  id?: string;
  children: ReactNode;
}) {
  return (
    <div id={id} className={`notice ${tone}`} role={tone === "fault" ? "alert" : "status"}>
      {children}
    </div>
  );
}
