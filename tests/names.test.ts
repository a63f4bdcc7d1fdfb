import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** What functions do here. One that does something else brings its verb along. */
const verbs = new Set(
  `abandon adapt add admit adopt advance aggregate allocate allows announce answer apply archive ask asks assert
  assign attach attempt audit authenticate await balance begin bill bind build bundle call carry catch change charge
  check choose claim clean close collect compare compile complete compute confirm count covers create cut cycle
  decide decode define delete demand describe detach digest disable disconnect divide do download draw drop emit
  encode end erase escape evaluate exchange execute expand explain export fail fetch fill filter find finish fit flag
  follow forecast foresee forget format forward frame free gather get give go grant group guard halt hand has hash
  hasten hear hide hold holds identify ingest insert invite is issue join judge keep knows lay leave limit link list
  listen load lock make map mark match measure meet merge mount move navigate nest normalize note number open order
  own parse pass patch pause pay pick place plan pool post postpone preview price print process propose put queue
  quote read reads reconcile record recount redact redeem reduce refund refuse rehearse relay release remind remove rename
  render renew reopen replace replay report reprint request require reseal resend reset resign resolve restart
  restore retry revive revoke rewrite round route run save say schedule scrub seal select send serialize serve set
  settle share shift shorten show sign spend spin split spread start step strip succeed sum switch take tell to
  transact translate truncate try unquote unseal unwrap update upload use verify void wait walk warn watch weigh withdraw
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
