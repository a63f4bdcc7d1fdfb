import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** What functions do here. One that does something else brings its verb along. */
const verbs = new Set(
  `adapt add adopt advance aggregate all allocate allows apply archive assert assign attach attribute audit
  authenticate authorize await begin bill bind build bundle call change charge check claim clean clear close
  coalesce collect compare compile complete compose compute confirm consume continue count covers create decide
  decode define delay delete describe detach disable disconnect divide download draw dry emit encode end enqueue
  erase escape evaluate exchange execute expand expects expedite explain export fail fetch fill filter find finish
  flag focus forecast format forward free get grant group guard halt has hash hide identify ignore ingest insert
  invite is issue iterate join leave limit link list listen load locate lock make map mark match measure memoize
  merge mount move navigate nest normalize note notify omit on open order own parse patch pause pay pick plan post
  postpone preserve preview print process project prompt put query queue quote read reassign recall reconcile
  record recount redact redeem reduce refund regrant reject relay release remove rename render renew reopen replace
  replay report request requeue require requires reseal resend reset resolve respond restart restore retry revoke
  rewrite rollover rotate round route run save schedule seal search select send serialize serve set settle show
  sign split start store stream subtract suggest sum supports suspend switch sync throw to transact translate
  truncate try unquote unseal unwrap update upload upsert use validate verify void wait warn watch with withdraw
  wrap write`.split(/\s+/),
);
/** Words of which a contract, a table or a refusal is made: they say what stands there, not what is done. */
const declaring: Record<string, RegExp> = {
  "shared/contract.ts": /^(anyone|person|seller|customer|page|many|sorting)$/,
  "shared/errors.ts": /^(notFound|notPermitted|invalid|fault)$/,
  "shared/api/fields.ts": /^(unlessNull|blankToNull|notYet)$/,
  "server/platform/db/columns.ts": /^(organizationOf|ownedKey|references|instant|stamps|metadata)$/,
  "server/identity/organizations/tables.ts": /^owned$/,
};

/** The functions that a file exports, but for components, which are things. */
function functionsIn(text: string): string[] {
  const declared = [...text.matchAll(/^export (?:async )?function\*? ([a-z]\w*)/gm)];
  const assigned = [...text.matchAll(/^export const ([a-z]\w*)(?:: [^=\n]+)? =\s*(?:async )?(?:<[^>]*>)?\(/gm)].filter(
    ({ index, 0: head }) => isArrow(text, index + head.length - 1),
  );
  return [...declared, ...assigned].map(([, name = ""]) => name);
}

/** Whether what begins with this bracket is the parameters of an arrow function. */
function isArrow(text: string, open: number): boolean {
  let depth = 0;
  for (let at = open; at < text.length; at += 1) {
    if (text[at] === "(") depth += 1;
    if (text[at] === ")") depth -= 1;
    if (depth === 0) return /^\s*(:[^;]*?)?=>/.test(text.slice(at + 1, at + 300));
  }
  return false;
}

const isNamed = (file: string, name: string): boolean =>
  verbs.has(/^[a-z0-9]+/.exec(name)?.[0] ?? "") || declaring[file]?.test(name) === true;

test("an exported function begins with a verb", () => {
  const files = execFileSync("git", ["ls-files", "shared", "server", "cli", "web"], { encoding: "utf8" })
    .split("\n")
    .filter((file) => /\.tsx?$/.test(file));
  const found = files.flatMap((file) => functionsIn(readFileSync(file, "utf8")).map((name) => ({ file, name })));
  expect(found.length).toBeGreaterThan(1500);
  expect(found.filter(({ file, name }) => !isNamed(file, name)).map(({ file, name }) => `${file} ${name}`)).toEqual([]);
  expect(functionsIn("export const shown = (row: Row): Out =>\n  row;\nexport const most = (2 + 3) * 4;\n")).toEqual([
    "shown",
  ]);
  expect([isNamed("shared/money.ts", "amountOf"), isNamed("shared/money.ts", "person")]).toEqual([false, false]);
});
