import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import chromium from "@sparticuz/chromium";
import { type Browser, chromium as launcher, type Page } from "playwright-core";

/** A headless Chromium that comes with the packages, so that tests need no browser installed. */
export async function openChromium(): Promise<Browser> {
  return launcher.launch({
    executablePath: await chromium.executablePath(),
    // Of the arguments that come with it none are taken: they switch off the very walls between sites that are tested
    // here, and draw by a graphics card done in software, which is slower than none.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
    headless: true,
  });
}

type Violation = {
  id: string;
  impact: string | null;
  help: string;
  nodes: { html: string; failureSummary?: string }[];
};

/** What axe finds serious or critical on a page, frames included, as readable lines. */
export async function seriousFaults(page: Page): Promise<string[]> {
  const axe = await readFile(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
  const found: string[] = [];
  for (const frame of page.frames()) {
    if (frame.url() === "about:srcdoc") continue;
    if (!(await frame.evaluate(() => "axe" in window))) await frame.evaluate(axe);
    const violations = await frame.evaluate(async () => {
      // Colours are judged where they end, not on their way.
      for (const animation of document.getAnimations()) if (animation instanceof CSSTransition) animation.finish();
      const { axe: run } = window as unknown as {
        axe: { run(on: Document, options: object): Promise<{ violations: Violation[] }> };
      };
      return (await run.run(document, { iframes: false, resultTypes: ["violations"] })).violations;
    });
    for (const { id, impact, nodes } of violations) {
      if (impact === "serious" || impact === "critical")
        found.push(`${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    }
  }
  return found;
}
