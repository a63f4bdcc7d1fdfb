import { isUtf8 } from "node:buffer";
import { ApiError, type Fault, faultsMax } from "../../../shared/errors.ts";

/** Where nobody has to show who they are: more than any form that a person fills in. */
export const openBytesMax = 64 * 1024;
/** Where a good token came with the request (API-05). */
export const bytesMax = 10 * 1024 * 1024;
/** The deepest body that the contract knows has a tenth of it. */
export const depthMax = 100;
/** For so many bytes that a route takes, a body may have one value: a list of nothing costs as much as one of something. */
const bytesPerValue = 128;
/** The same where many small things come in one body. */
const bytesPerValueInBulk = 20;

const [quote, backslash, comma, openList, closeList, openMap, closeMap] = [...Buffer.from('"\\,[]{}')];

/** What is wrong with the size of a body of JSON, seen before any of it is read: how deep it is, and how many values it has. */
function findSizeFault(bytes: Buffer, values_max: number): ApiError | undefined {
  let [depth, values, quoted] = [0, 0, false];
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (quoted) {
      if (byte === backslash) at++;
      else if (byte === quote) quoted = false;
    } else if (byte === quote) quoted = true;
    else if (byte === comma) values++;
    else if (byte === openList || byte === openMap) {
      depth++;
      values++;
      if (depth > depthMax) return rejectUnreadable(`The body is nested more than ${depthMax} deep.`, "json_too_deep");
    } else if (byte === closeList || byte === closeMap) depth--;
    if (values > values_max) return new ApiError("RequestBodyTooLarge", `The body has more than ${values - 1} values.`);
  }
  return undefined;
}

const rejectUnreadable = (msg: string, type = "json_invalid") =>
  new ApiError("RequestValidationError", [{ loc: ["body"], msg, type }]);

/** Whether the database can hold a text: without NUL characters (API-06) and halves of surrogate pairs. */
export const isStorable = (text: string): boolean => !text.includes("\0") && text.isWellFormed();

export const unstorable = "Text must be well-formed Unicode without NUL characters.";

/** Only a text with one of these has in it what a walk through all of it would find. */
const suspicious = /\\u|__proto__/;

/**
 * Reads a body of JSON that may have so many bytes, or says what is wrong with it. Nothing is parsed before its size is known
 * to be bearable, and what is found is a few faults, however many there are.
 */
export function readJson(bytes: Buffer, route_bytes_max: number, bulk = false): unknown {
  const fault = findSizeFault(bytes, route_bytes_max / (bulk ? bytesPerValueInBulk : bytesPerValue));
  if (fault) throw fault;
  if (!isUtf8(bytes)) throw rejectUnreadable("The body is not well-formed UTF-8.");
  const text = bytes.toString("utf8");
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    throw rejectUnreadable("The body is not valid JSON.");
  }
  if (!suspicious.test(text)) return body;
  const faults: Fault[] = [];
  clean(body, ["body"], faults);
  if (faults.length > 0) throw new ApiError("RequestValidationError", faults);
  return body;
}

/**
 * Notes where text stands, keys included, that the database cannot hold, and takes away what is called `__proto__`: copied
 * into another map, it would become that map's prototype. It is as deep as a body may be, and ends with the first faults.
 */
function clean(value: unknown, path: (string | number)[], faults: Fault[]): void {
  const note = () =>
    faults.push({
      loc: [...path],
      msg: unstorable,
      type: "value_error",
    });
  if (typeof value === "string" && !isStorable(value)) note();
  if (typeof value !== "object" || value === null) return;
  for (const key of Object.keys(value)) {
    if (faults.length >= faultsMax) return;
    if (key === "__proto__") Reflect.deleteProperty(value, key);
    else if (!isStorable(key)) note();
    else {
      path.push(Array.isArray(value) ? Number(key) : key);
      clean((value as Record<string, unknown>)[key], path, faults);
      path.pop();
    }
  }
}
