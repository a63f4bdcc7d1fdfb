/** The cookies of a request, decoded, in their order. A value that cannot be decoded stays as it is. */
export function parseCookies(header: string | null | undefined): [name: string, value: string][] {
  return (header ?? "")
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "")
    .map((part) => {
      const [name = "", ...rest] = part.split("=");
      return [name, decodeText(rest.join("="))];
    });
}

/** What an encoded text says; itself when it is not one. */
export function decodeText(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
