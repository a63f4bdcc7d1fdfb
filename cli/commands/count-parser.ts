import { InvalidArgumentError } from "commander";

/** Make the parser of a flag such as `--limit`: a whole number from 1 to `max`, or without an end. */
export const createCountParser =
  (max = Number.POSITIVE_INFINITY) =>
  (text: string): number => {
    const value = Number(text);
    if (!(Number.isInteger(value) && value > 0 && value <= max))
      throw new InvalidArgumentError(
        `is a whole number from 1 ${max === Number.POSITIVE_INFINITY ? "on" : `to ${max}`}.`,
      );
    return value;
  };
