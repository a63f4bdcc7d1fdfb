import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** What functions do here. One that does something else brings its verb along. */
const verbs = new Set(
  `abandon abort accept accepts acquire activate adapt add admit adopt advance aggregate align all allocate allows
  apply approve archive arm arrange assemble assert assign attach attempt attribute audit authenticate authorize await
  begin bill bind block break build bundle buy call can cancel canonicalize cast catch chain change charge check
  choose claim clamp clean clear close coalesce collect compare compile complete compose compute confirm connect
  consume continue control convert copy count covers create cycle deactivate decide decode decrypt deduct define delay
  delete deliver deny derive describe detach disable discard disconnect discover dispatch distribute divide download
  draw drop dry edit embed emit encode end enqueue enter erase escape evaluate exchange exclude execute expand expects
  expedite expire explain export fail feed fetch fill filter find finish flag flush focus follow forecast format
  forward free get grant group guard halt handle has hash hide identify ignore import include index ingest init
  initialize insert inspect install invite is issue iterate join lease leave limit link list listen load locate lock login
  logout loosen make map mark mask match measure memoize merge mount move multiply navigate nest normalize note notify
  number omit on open order own pad paint pair parse patch pause pay peek pick plan poll pool post postpone prepare
  preserve prevent preview print probe proceed process project prompt pull put query queue quote read reassign recall
  reconcile record recount recover redact redeem reduce refer refetch refresh refund regrant reject relay release
  reload remove rename render renew reopen replace replay report reprice request requeue require requires reseal
  resend reserve reset resolve respond restart restore retry revert revoke rewrite rollover rotate round route run
  save scale schedule score seal search select send separate serialize serve set settle shape should show sign skip
  sort spawn split start stop store stream strip submit subscribe subtract suggest sum summarize supports suspend
  switch sync tail terminate throw to tokenize transact transfer translate truncate try unpack unquote unseal unwrap update
  upgrade upload upsert use validate verify visit void wait wake walk warn watch with withdraw wrap write`.split(/\s+/),
);
/** Words of which a contract, a table or a refusal is made: they say what stands there, not what is done. */
const declaring: Record<string, RegExp> = {
  "shared/contract.ts": /^(anyone|person|seller|customer|page|many|sorting)$/,
  "shared/errors.ts": /^(notFound|notPermitted|invalid|fault)$/,
  "shared/api/fields.ts": /^(unlessNull|blankToNull|notYet)$/,
  "server/platform/db/columns.ts": /^(organizationOf|ownedKey|references|instant|stamps|metadata)$/,
  "cli/main.ts": /^main$/,
  "server/identity/organizations/tables.ts": /^owned$/,
};

/** The named functions of a file, but for components, which are things. */
function functionsIn(text: string): string[] {
  const declared = [...text.matchAll(/^\s*(?:export )?(?:async )?function\*? ([a-z]\w*)/gm)];
  const assigned = [
    ...text.matchAll(/^\s*(?:export )?const ([a-z]\w*)(?:: [^=\n]+)? =\s*(?:async )?(?:<[^>]*>)?\(/gm),
  ].filter(({ index, 0: head }) => isArrow(text, index + head.length - 1));
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

test("every named function begins with a verb", () => {
  const files = execFileSync("git", ["ls-files", "shared", "server", "cli", "web"], { encoding: "utf8" })
    .split("\n")
    .filter((file) => /\.tsx?$/.test(file));
  const found = files.flatMap((file) => functionsIn(readFileSync(file, "utf8")).map((name) => ({ file, name })));
  expect(found.length).toBeGreaterThan(4000);
  expect(found.filter(({ file, name }) => !isNamed(file, name)).map(({ file, name }) => `${file} ${name}`)).toEqual([]);
  const sample = "function told() {}\n  const shown = (row: Row): Out =>\n    row;\nexport const most = (2 + 3) * 4;\n";
  expect(functionsIn(sample)).toEqual(["told", "shown"]);
  expect([isNamed("shared/money.ts", "amountOf"), isNamed("shared/money.ts", "person")]).toEqual([false, false]);
});
