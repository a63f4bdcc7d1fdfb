/** The relative luminance of a color such as `#0b5c6b`, from 0 to 1 (WCAG 2.2). */
export function computeLuminance(color: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** The color of text on a color: white where its contrast is at least 4.5 to 1 (WCAG 1.4.3), else black, whose contrast is higher. */
export const getTextColor = (color: string): "#ffffff" | "#000000" =>
  1.05 / (computeLuminance(color) + 0.05) >= 4.5 ? "#ffffff" : "#000000";
