/** What a terminal shows after a program has written to it: enough of one for what floe and Ink write. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are the codes of a terminal
const codes = /\u001b\[(\?)?([\d;]*)([A-Za-z])|\u001b\]8;;.*?\u001b\\|[\n\r]|[^\u001b\n\r]/gsu;

/** The lines of the screen, without blanks at their ends and empty lines below. */
export function showScreen(written: string): string[] {
  let screen: string[][] = [];
  let [row, column] = [0, 0];
  const eraseLine = (from: number): void => {
    screen[row] = (screen[row] ?? []).slice(0, from);
  };
  for (const [text, isPrivate, number = "", letter] of written.matchAll(codes)) {
    const count = Number(number || 1);
    if (text === "\n") [row, column] = [row + 1, 0];
    else if (text === "\r") column = 0;
    else if (isPrivate) continue;
    else if (letter === "A") row = Math.max(0, row - count);
    else if (letter === "B") row += count;
    else if (letter === "E") [row, column] = [row + count, 0];
    else if (letter === "G") column = count - 1;
    else if (letter === "H") [row, column] = [0, 0];
    else if (letter === "J") screen = number === "2" ? [] : screen.slice(0, row);
    else if (letter === "K") eraseLine(number === "2" ? 0 : column);
    else if (letter === undefined && text.length <= 2) {
      screen[row] ??= [];
      const line = screen[row] ?? [];
      while (line.length < column) line.push(" ");
      line[column++] = text;
    }
  }
  const lines = Array.from(screen, (line) => (line ?? []).join("").trimEnd());
  return lines.slice(0, lines.findLastIndex((line) => line !== "") + 1);
}
