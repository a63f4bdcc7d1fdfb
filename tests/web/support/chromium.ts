import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium as launcher, type Page } from "playwright-core";
import { patienceMs } from "../../support/eventually.ts";

const packed = "node_modules/@sparticuz/chromium";
const cache = "node_modules/.cache/floe-chromium";
const unpack = "tests/web/support/unpack.ts";

/** The browser that is packed in a package, unpacked once for each version of it. */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packed, "package.json"), "utf8")) as { version: string };
  const folder = join(process.cwd(), cache, version);
  if (existsSync(folder)) return join(folder, "chromium");
  // Aside, and in a process with a folder for temporary files of its own: two workers may come here at once, and
  // neither may start what the other has written only half of.
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  execFileSync(process.execPath, [unpack], {
    env: { ...process.env, TMPDIR: partial },
    stdio: "inherit",
  });
  try {
    renameSync(partial, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
    rmSync(partial, { recursive: true, force: true });
  }
  return join(folder, "chromium");
}

async function launch(): Promise<Browser> {
  return launcher.launch({
    executablePath: await unpacked(),
    // Of the arguments that come with it none are taken: they switch off the very walls between sites that are tested
    // here, and draw by a graphics card done in software, which is slower than none.
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
    headless: true,
    timeout: patienceMs,
  });
}

let launched: Promise<Browser> | undefined;

/**
 * A headless Chromium that comes with the packages, so that tests need no browser installed. The files of a worker share
 * one, which ends with the worker: `closePages` when a file has ended.
 */
export async function openChromium(): Promise<Browser> {
  if (launched && !(await launched).isConnected()) launched = undefined;
  launched ??= launch();
  return launched;
}

/** Close all that a file has opened in the browser, which stays for the next one. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  await Promise.all(browser?.contexts().map((context) => context.close()) ?? []);
}

/**
 * A page in a browser of its own: nothing is shared with another one. What the browser complains about, errors of scripts
 * and breaches of the content security policy, is added to `complaints`.
 */
export async function openPage(
  browser: Browser,
  complaints: string[],
  options: BrowserContextOptions = {},
): Promise<Page> {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(patienceMs);
  const page = await context.newPage();
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("console", (line) => /Content Security Policy/.test(line.text()) && complaints.push(line.text()));
  return page;
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
      // Colors are judged where they end, not on their way.
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
