import { expect, test } from "vitest";
import { createId } from "../../server/platform/ids.ts";

const noon = Date.UTC(2031, 4, 1, 12);
const timeIn = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16);

test("an id carries the time that it is given, not the system's", () => {
  for (const time of [0, Date.UTC(1999, 0, 1), noon]) expect(timeIn(createId(new Date(time)))).toBe(time);
  expect(createId(new Date(noon))).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

test("ids of one millisecond are in the order in which they were made, also when others with other times are between them", () => {
  const ids = Array.from({ length: 5000 }, (_, n) => {
    createId(new Date(noon + (n % 3 === 0 ? 5000 : -5000)));
    return createId(new Date(noon));
  });
  expect(ids).toEqual([...ids].sort());
  expect(new Set(ids).size).toBe(ids.length);
});
