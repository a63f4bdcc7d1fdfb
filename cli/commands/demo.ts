/** `floe demo seed`: fill a sandbox with a shop that has sold for some months. */
import { type Command, InvalidArgumentError } from "commander";
import type { Context } from "../context.ts";
import { monthsMax, seedsMax } from "../demo/limits.ts";

type Options = { months: number; seed: number };

const readNumber =
  (max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!(Number.isInteger(value) && value >= 1 && value <= max))
      throw new InvalidArgumentError(`is a whole number from 1 to ${max.toLocaleString("en-US")}.`);
    return value;
  };

export function add(root: Command, contextOf: (command: Command) => Context): void {
  const group = root.command("demo").description("A shop with months of sales, for trials").helpCommand(false);
  const command = group
    .command("seed")
    .description("Fill a new sandbox with products, customers and months of sales")
    .option("--months <number>", "how many months pass", readNumber(monthsMax), 12)
    .option("--seed <number>", "another number makes another shop", readNumber(seedsMax), 1)
    .addHelpText(
      "after",
      `
The sandbox must have no customers yet. Its clock moves forward by the months.

Examples:
  floe orgs create Showcase --sandbox
  floe demo seed --months 12
  floe demo seed --months 3 --seed 7`,
    );
  command.action(async (options: Options) => {
    const { createDemo } = await import("../demo/seed.ts");
    await createDemo(contextOf(command), options);
  });
}
