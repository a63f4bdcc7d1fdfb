import { InvalidArgumentError } from "commander";

/** Make the parser of a flag such as `--limit`: a whole number from 1 to `max`. */
export const createCountParser =
  (max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!(Number.isInteger(value) && value > 0 && value <= max))
      throw new InvalidArgumentError(`is a whole number from 1 to ${max}.`);
    return value;
  };
