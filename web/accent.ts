import type { CSSProperties } from "react";
import { getTextColor } from "../shared/colors.ts";

/**
 * A seller's color on buttons, with letters that can be read on it: white or black, one of which always can. Texts keep the
 * page's own color, as a seller's cannot be read on every ground.
 */
export function computeAccent(color: string | null): CSSProperties | undefined {
  if (color === null) return undefined;
  return { "--button": color, "--button-strong": color, "--button-ink": getTextColor(color) } as CSSProperties;
}
