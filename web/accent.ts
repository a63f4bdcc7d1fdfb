import type { CSSProperties } from "react";
import { getTextColor } from "../shared/colors.ts";

/** A seller's colour on a button, with letters that can be read on it: white or black, one of which always can. */
export function computeAccent(color: string | null): CSSProperties | undefined {
  if (color === null) return undefined;
  return { "--accent": color, "--accent-strong": color, "--accent-ink": getTextColor(color) } as CSSProperties;
}
