/** A gray bar where text will be. */
export function GhostLine({ width, height = "1.25rem" }: { width: string; height?: string }) {
  return <span className="ghost" style={{ width, height, maxWidth: "100%" }} />;
}
