/** The files with which `floe extension create` begins an extension. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { Fault } from "../fault.ts";
import { removeControls } from "../ui/theme.ts";

const buildProgram = (name: string): string => `#!/usr/bin/env node
// floe ${name}: the words after the name are the arguments, and the exit code is that of floe.
import { execFileSync } from "node:child_process";
import { argv, env, execPath, exit } from "node:process";

const words = argv.slice(2);
if (words.includes("--help")) {
  console.log("Usage: floe ${name} [NAME …]\\n\\nSays how many products are on sale; with names, only of these.");
  exit(0);
}

/** Ask floe itself: it knows who is signed in, where, and for which organization. FLOE_EXECUTABLE says where floe is. */
function runFloe(...line) {
  return JSON.parse(execFileSync(execPath, [env.FLOE_EXECUTABLE, ...line, "--json"], { encoding: "utf8" }));
}

const products = runFloe("products", "list", "--all");
const chosen = words.length === 0 ? products : products.filter(({ name }) => words.includes(name));
console.log(\`\${chosen.length} of \${products.length} products\`);
`;

const buildReadme = (name: string): string => `# floe ${name}

An extension of the command line of floe.

\`\`\`sh
floe extension install https://git.example.com/you/floe-${name}.git
floe ${name} --help
\`\`\`

A tag such as \`v1.0.0\` is a version: \`floe extension install\` and \`upgrade\` take the newest one, and without any tag the
default branch. \`floe-${name}.mjs\` runs by the Node that runs floe, on every system. A program of another kind is called
\`floe-${name}\`, and has the right to be run.
`;

/** Make the folder of a new extension. One that is there stays as it is. */
export function createExample(name: string, from = process.cwd()): string {
  const folder = resolve(from, `floe-${name}`);
  try {
    mkdirSync(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "EEXIST")
      throw new Fault("conflict", `${removeControls(folder)} is there already`, { hint: "Choose another name." });
    throw error;
  }
  writeFileSync(join(folder, `floe-${name}.mjs`), buildProgram(name), { mode: 0o755 });
  writeFileSync(join(folder, "README.md"), buildReadme(name));
  return folder;
}
