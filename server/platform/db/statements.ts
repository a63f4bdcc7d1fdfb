import { is, Placeholder, SQL, StringChunk, sql } from "drizzle-orm";
import { PgDialect } from "drizzle-orm/pg-core";
import type { Database } from "./transaction.ts";
import { getUnit } from "./unit-of-work.ts";

/**
 * What makes statements that are asked for often: once for each database, as their texts take longer to put together than to
 * send. In a transaction they are made anew: each is another database to the driver, and its statements would end with it.
 */
export function memoizeStatement<S>(make: (db: Database) => S): (db: Database) => S {
  const made = new WeakMap<Database, S>();
  return (db) => {
    if (getUnit(db) !== null) return make(db);
    const statements = made.get(db) ?? make(db);
    made.set(db, statements);
    return statements;
  };
}

const dialect = new PgDialect();
const value = /\$(\d+)/;

/** A text of a statement, and the value that follows it. */
type Part = { text: StringChunk; param?: unknown };

/**
 * A statement, or a part of one, whose text is always the same: it is put together at its first use, and from then on given its
 * values alone. For what goes in a transaction, and is written so often that its text costs more than its work.
 */
export function writeOnce<N extends string>(
  names: readonly N[],
  make: (asked: Record<N, Placeholder>) => SQL,
): (values: Record<N, string | null>) => SQL {
  const makeParts = () => {
    const asked = names.map((name) => [name, sql.placeholder(name)]);
    return readParts(make(Object.fromEntries(asked) as Record<N, Placeholder>));
  };
  let parts: Part[] | undefined;
  return (values) => {
    parts ??= makeParts();
    return new SQL(
      parts.flatMap(({ text, param }) => {
        if (param === undefined) return [text];
        return [text, sql.param(is(param, Placeholder) ? values[param.name as N] : param)];
      }),
    );
  };
}

function readParts(whole: SQL): Part[] {
  const { sql: text, params } = dialect.sqlToQuery(whole);
  // Texts and the numbers of values take turns.
  const pieces = text.split(value);
  return pieces.flatMap((piece, index) =>
    index % 2 === 0 ? [{ text: new StringChunk(piece), param: params[Number(pieces[index + 1]) - 1] }] : [],
  );
}
