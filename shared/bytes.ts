const units = ["B", "KB", "MB", "GB", "TB"] as const;
const step = 1024;

/** A size as people read it: `1.5 MB`. */
export function formatBytes(bytes: number): string {
  let size = bytes;
  let unit = 0;
  while (size >= step && unit < units.length - 1) {
    size /= step;
    unit += 1;
  }
  const shown = unit === 0 ? String(size) : new Intl.NumberFormat("en", { maximumFractionDigits: 1 }).format(size);
  return `${shown} ${units[unit]}`;
}
