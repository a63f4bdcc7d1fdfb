const browsers: [RegExp, string][] = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrome\//, "Chrome"],
  [/Safari\//, "Safari"],
];
const systems: [RegExp, string][] = [
  [/iPhone|iPad/, "iOS"],
  [/Android/, "Android"],
  [/Windows/, "Windows"],
  [/Mac OS X/, "macOS"],
  [/CrOS/, "ChromeOS"],
  [/Linux/, "Linux"],
];
const findName = (agent: string, list: [RegExp, string][]): string | undefined =>
  list.find(([sign]) => sign.test(agent))?.[1];

/** What a browser says of itself, as people name it: "Firefox on Linux". */
export function readBrowserName(agent: string | null | undefined): string {
  if (!agent) return "An unknown program";
  const browser = findName(agent, browsers);
  const system = findName(agent, systems);
  if (browser) return system ? `${browser} on ${system}` : browser;
  return agent.split(/[\s/]/)[0] || "An unknown program";
}
