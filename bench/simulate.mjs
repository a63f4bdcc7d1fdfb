/**
 * Simulated shops, one a seed: a whole life with crashes, lost answers and two servers, whose books are looked at after every
 * day. Prints what each came to; where something is wrong, what it is and how to see it again, and the exit code is 1.
 *
 *   node bench/simulate.mjs [--seeds N] [--from S] [--days D] [--log] [--fault NAME]     needs Node 24, as it reads TypeScript
 *
 * --log prints the whole story; --fault plants a fault of the area `simulator` of bench/support/faults.mjs.
 */
import { registerHooks } from "node:module";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import postgres from "postgres";
import { faults } from "./support/faults.mjs";

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "10" },
    from: { type: "string", default: "1" },
    days: { type: "string", default: "365" },
    log: { type: "boolean", default: false },
    fault: { type: "string" },
  },
});
const [seeds, from, days] = [values.seeds, values.from, values.days].map(Number);

/** The source is changed as it is loaded, so nothing of a fault stands in any file. */
if (values.fault) {
  const fault = faults.simulator.find(([name]) => name === values.fault);
  if (!fault)
    throw new Error(`There is no such fault. There are ${faults.simulator.map(([name]) => name).join(", ")}.`);
  const [, file, text, instead] = fault;
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context);
      if (!url.startsWith("file:") || relative(process.cwd(), fileURLToPath(url)) !== file) return loaded;
      const source = String(loaded.source);
      if (source.split(text).length !== 2) throw new Error(`The text of the fault does not stand once in ${file}.`);
      return { ...loaded, source: source.replace(text, () => instead) };
    },
  });
}
const { startPostgres } = await import("../tests/support/postgres.ts");
const { openPostgres } = await import("../server/platform/db/database.ts");
const { simulate } = await import("../tests/support/simulator.ts");

const server = await startPostgres();
const sql = postgres(server.url, { max: 1, onnotice: () => {} });
const addressOf = (name) => server.url.replace(/[^/]+$/, name);
let found = 0;
try {
  await sql`create database simulated_template`;
  const template = await openPostgres(addressOf("simulated_template"));
  await template.migrate("server/migrations");
  await template.close();
  for (let seed = from; seed < from + seeds; seed += 1) {
    const name = `simulated_${seed}`;
    await sql`create database ${sql(name)} template simulated_template strategy file_copy`;
    const began = performance.now();
    const seconds = () => `${((performance.now() - began) / 1000).toFixed(0)} s`;
    try {
      const hear = values.log ? console.log : undefined;
      const { log, statements, crashes } = await simulate({ seed, days, databaseUrl: addressOf(name), hear });
      console.log(`seed ${seed}: ${log.at(-1)}; ${statements} statements, ${crashes} crashes, ${seconds()}`);
    } catch (error) {
      found += 1;
      console.log(`${error.message}\n(after ${seconds()})\n`);
    }
    await sql`drop database ${sql(name)} with (force)`;
    // One story is enough to see a planted fault.
    if (values.fault && found > 0) break;
  }
} finally {
  await sql.end();
  await server.stop();
}
process.exit(found === 0 ? 0 : 1);
