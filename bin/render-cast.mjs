// Draws an asciicast (version 2) as an SVG that moves by itself: a small terminal, and one picture for each change of the screen.

const escapeCharacter = String.fromCharCode(27);
const sequence = new RegExp(
  `${escapeCharacter}(?:\\[([?0-9;]*)([A-Za-z])|\\][^\\u0007${escapeCharacter}]*(?:\\u0007|${escapeCharacter}\\\\)|[=>()][0-9A-B]?)`,
  "y",
);
const classOf = { 1: "strong", 2: "dim", 31: "bad", 32: "good", 33: "warn", 34: "link", 35: "link", 36: "link" };
const endOf = { 22: ["strong", "dim"], 39: ["bad", "good", "warn", "link"] };
const breakMs = 80;
const holdMs = 6000;

/** A terminal that knows what floe writes: colors, lines, and moves within the screen. */
export function createScreen(columns, rows) {
  let lines = [[]];
  let [x, y] = [0, 0];
  const style = new Set();
  const setStyle = (codes) => {
    for (const code of codes) {
      if (code === 0) style.clear();
      for (const name of endOf[code] ?? []) style.delete(name);
      if (classOf[code]) style.add(classOf[code]);
    }
  };
  const getLine = () => {
    while (lines.length <= y) lines.push([]);
    return lines[y];
  };
  const move = (numbers, letter) => {
    const count = numbers[0] || 1;
    if (letter === "m") setStyle(numbers);
    else if (letter === "A") y = Math.max(0, y - count);
    else if (letter === "B") y += count;
    else if (letter === "C") x = Math.min(columns - 1, x + count);
    else if (letter === "D") x = Math.max(0, x - count);
    else if (letter === "G") x = count - 1;
    else if (letter === "K") numbers[0] === 2 ? getLine().splice(0) : getLine().splice(x);
    else if (letter === "J" || letter === "H") {
      if (letter === "H" || numbers[0] === 2) [x, y] = [0, 0];
      if (letter === "J") {
        if (numbers[0] === 2) lines = [[]];
        else {
          getLine().splice(x);
          lines.splice(y + 1);
        }
      }
    }
  };
  const put = (character) => {
    if (x >= columns) [x, y] = [0, y + 1];
    const line = getLine();
    while (line.length < x) line.push({ text: " ", style: "" });
    line[x] = { text: character, style: [...style].sort().join(" ") };
    x += 1;
  };
  return {
    write(text) {
      for (let at = 0; at < text.length; ) {
        sequence.lastIndex = at;
        const found = sequence.exec(text);
        if (found) {
          if (found[2]) move((found[1].startsWith("?") ? "" : found[1]).split(";").map(Number), found[2]);
          at += found[0].length;
          continue;
        }
        const character = String.fromCodePoint(text.codePointAt(at));
        at += character.length;
        if (character === "\n") [x, y] = [0, y + 1];
        else if (character === "\r") x = 0;
        else if (character === "\b") x = Math.max(0, x - 1);
        else if (character >= " ") put(character);
      }
    },
    /** The last lines that are on the screen, each as parts of one style. */
    read: () =>
      lines.slice(-rows).map((line) => {
        const parts = [];
        for (const { text, style: name } of line) {
          if (parts.at(-1)?.style === name) parts.at(-1).text += text;
          else parts.push({ text, style: name });
        }
        const last = parts.at(-1);
        if (last) last.text = last.text.trimEnd();
        return parts;
      }),
  };
}

const escapeText = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const formatLine = (parts) =>
  parts
    .map(({ text, style }) => (style ? `<tspan class="${style}">${escapeText(text)}</tspan>` : escapeText(text)))
    .join("");

/** The screens of a cast that stay for a moment, and from when. */
export function listScreens(text) {
  const [head, ...events] = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  const screen = createScreen(head.width, head.height);
  const screens = [];
  for (const [index, [at, kind, data]] of events.entries()) {
    if (kind === "o") screen.write(data);
    const until = (events[index + 1]?.[0] ?? at + holdMs / 1000) * 1000;
    if (until - at * 1000 < breakMs) continue;
    screens.push({ from: at * 1000, lines: screen.read().map(formatLine) });
  }
  return {
    width: head.width,
    height: head.height,
    title: head.title ?? "a terminal",
    screens,
    ends: (events.at(-1)?.[0] ?? 0) * 1000 + holdMs,
  };
}

const [cell, row, edge, top] = [8.43, 20, 20, 44];
const round = (value) => Math.round(value * 1000) / 1000;

/** Each line is kept once; a picture names the lines that it shows. Who wants no motion sees the last picture. */
export function renderCast(text) {
  const { width, height, title, screens, ends } = listScreens(text);
  const known = new Map();
  const use = (line, index) => {
    if (line === "") return "";
    if (!known.has(line)) known.set(line, `l${known.size.toString(36)}`);
    return `<use href="#${known.get(line)}" y="${index * row}"/>`;
  };
  const pictures = screens.map(({ from, lines }, index) => {
    const [begins, stops] = [(from / ends) * 100, ((screens[index + 1]?.from ?? ends) / ends) * 100];
    return { begins, stops, body: lines.map(use).join("") };
  });
  const frames = pictures.map(({ begins, stops }, index) => {
    const isLast = index === pictures.length - 1;
    const before = begins > 0 ? `0%,${round(begins - 0.0001)}%{visibility:hidden}` : "";
    const after = isLast ? "" : `${round(stops)}%,100%{visibility:hidden}`;
    return `@keyframes f${index}{${before}${round(begins)}%,${round(isLast ? 100 : stops - 0.0001)}%{visibility:visible}${after}}`;
  });
  const [wide, high] = [Math.round(width * cell + 2 * edge), height * row + top + edge];
  const seconds = round(ends / 1000);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${wide} ${high}" width="${wide}" height="${high}" role="img" aria-label="${escapeText(title)}">
<style>
svg{--ground:#fbfcfd;--edge:#d5dde4;--text:#1d2b36;--dim:#5d6b76;--good:#16703c;--warn:#8a5a00;--bad:#b3261e;--link:#0b6b87}
@media (prefers-color-scheme:dark){svg{--ground:#0e1a22;--edge:#2a3b47;--text:#e3edf3;--dim:#93a4b0;--good:#6fd08c;--warn:#e3b341;--bad:#ff8a80;--link:#6cc7e0}}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;fill:var(--text)}
.strong{font-weight:600}.dim{fill:var(--dim)}.good{fill:var(--good)}.warn{fill:var(--warn)}.bad{fill:var(--bad)}.link{fill:var(--link)}
.f{visibility:hidden}.f:last-child{visibility:visible}
${frames.join("\n")}
@media (prefers-reduced-motion:no-preference){
.f{animation-duration:${seconds}s;animation-iteration-count:infinite;animation-timing-function:step-end}
${pictures.map((_, index) => `#p${index}{animation-name:f${index}}`).join("")}
}
</style>
<defs>
${[...known].map(([line, id]) => `<text id="${id}" x="${edge}" y="${top + 14}" xml:space="preserve">${line}</text>`).join("\n")}
</defs>
<rect x="0.5" y="0.5" width="${wide - 1}" height="${high - 1}" rx="10" style="fill:var(--ground);stroke:var(--edge)"/>
<g style="fill:var(--edge)"><circle cx="24" cy="22" r="6"/><circle cx="44" cy="22" r="6"/><circle cx="64" cy="22" r="6"/></g>
<g>
${pictures.map(({ body }, index) => `<g class="f" id="p${index}">${body}</g>`).join("\n")}
</g>
</svg>
`;
}
