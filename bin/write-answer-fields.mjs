// Writes cli/agent/answer-fields.ts from the contract: `node bin/write-answer-fields.mjs` after a change of shared/api. A test compares the two.
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { collectAnswerFields, formatAnswerFields } from "../cli/agent/collect-fields.ts";
import { api } from "../shared/api/index.ts";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
writeFileSync(join(root, "cli/agent/answer-fields.ts"), formatAnswerFields(collectAnswerFields(api)));
