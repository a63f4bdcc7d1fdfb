import { z } from "zod";

/** A name that the file gives to a thing. It is the thing's identity in every environment; ids never stand in the file. */
export const key = z
  .string()
  .regex(/^[a-z0-9][a-z0-9_-]{0,62}$/, "A key is made of lower-case letters, digits, - and _, at most 63.");
