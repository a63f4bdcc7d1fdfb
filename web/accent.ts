import type { CSSProperties } from "react";

/** How bright a colour is to the eye, 0 to 1 (WCAG 2.2, relative luminance). */
function getBrightness(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(color.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** A seller's colour on a button, with letters that can be read on it: white or black, one of which always can. */
export function computeAccent(color: string | null): CSSProperties | undefined {
  if (color === null) return undefined;
  const ink = 1.05 / (getBrightness(color) + 0.05) >= 4.5 ? "#ffffff" : "#000000";
  return { "--accent": color, "--accent-strong": color, "--accent-ink": ink } as CSSProperties;
}
