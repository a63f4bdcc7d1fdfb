/** The shapes that `shared/answer-check.ts` checks by, made from the contract. */
import { z } from "zod";
import { checkShape, type Shape } from "./answer-check.ts";

const shapes = new WeakMap<z.ZodType, Shape>();

/** The wire form of a schema of the contract. It is made once. */
export function getShape(schema: z.ZodType): Shape {
  let shape = shapes.get(schema);
  if (!shape) {
    shape = z.toJSONSchema(schema, { io: "input", reused: "ref", unrepresentable: "any" }) as Shape;
    shapes.set(schema, shape);
  }
  return shape;
}

/** Throws an `SDKValidationError` where the JSON of an answer or of a payload does not have the shape of its schema. */
export const checkAnswer = (schema: z.ZodType, json: unknown, rawMessage?: string): void =>
  checkShape(getShape(schema), json, rawMessage);
