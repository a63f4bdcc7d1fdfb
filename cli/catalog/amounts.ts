/** Amounts as the file has them: 25.00 is a number to YAML, which forgets that there were decimals. */
import { type Document, isAlias, isMap, isScalar, isSeq, type Scalar } from "yaml";

type Path = (string | number)[];

/** Whether a number at this place is an amount of money. */
function isAmountAt([first, ...rest]: Path): boolean {
  const [kind, , field] = first === "environments" ? rest.slice(1) : [first, ...rest];
  const last = rest.at(-1);
  if (kind === "products") return (field === "price" || field === "prices") && last !== "from" && last !== "to";
  return kind === "discounts" && field === "amount";
}

function visitAmounts(document: Document, node: unknown, path: Path, found: (scalar: Scalar) => void): void {
  if (isAlias(node)) visitAmounts(document, node.resolve(document), path, found);
  else if (isScalar(node)) {
    if (isAmountAt(path)) found(node);
  } else if (isMap(node))
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : "";
      // What is merged in stands as if it were written here.
      visitAmounts(document, value, name === "<<" ? path : [...path, name], found);
    }
  else if (isSeq(node))
    for (const [index, item] of node.items.entries()) visitAmounts(document, item, [...path, index], found);
}

/** Take amounts as they are written: `25.00` stays these five characters. */
export const preserveAmounts = (document: Document): void =>
  visitAmounts(document, document.contents, [], (scalar) => {
    if (typeof scalar.value === "number" && scalar.source !== undefined) scalar.value = scalar.source;
  });

/** Write amounts as numbers are written, with their decimals and without quotes. */
export const unquoteAmounts = (document: Document, node: unknown = document.contents, path: Path = []): void =>
  visitAmounts(document, node, path, (scalar) => {
    const [, decimals] = (typeof scalar.value === "string" && /^\d+\.(\d+)$/.exec(scalar.value)) || [];
    const number = Number(scalar.value);
    if (decimals === undefined || number.toFixed(decimals.length) !== scalar.value) return;
    // Very small ones would be written with an exponent.
    if (String(number).includes("e")) return;
    scalar.value = number;
    scalar.minFractionDigits = decimals.length;
  });
