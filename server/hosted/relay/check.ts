import { SDKValidationError } from "../../../shared/answer-check.ts";
import { checkAnswer } from "../../../shared/answer-shapes.ts";
import type { Operation } from "../../../shared/contract.ts";

/** What is wrong with the shape of an answer, in the text of the official SDKs; undefined where nothing is. */
export function findShapeFault({ response }: Operation, json: unknown): string | undefined {
  if (!response) return undefined;
  try {
    checkAnswer(response, json, "Response validation failed");
    return undefined;
  } catch (error) {
    if (error instanceof SDKValidationError) return error.pretty();
    throw error;
  }
}
