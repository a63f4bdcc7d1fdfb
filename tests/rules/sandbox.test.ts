import { expect, test } from "vitest";
import { planTarget } from "../../server/operations/sandbox/rules.ts";

const now = new Date("2026-01-31T12:00:00.500Z");
const at = (ms: number) => new Date(now.getTime() + ms);
const limit = new Date("2046-01-31T12:00:00.500Z");
const oneLater = new Date(limit.getTime() + 1);
const underWay = at(5000);

type Asked = Parameters<typeof planTarget>[2];
test.each<[string, Date | null, Asked, Date | string]>([
  ["to now", null, { to: now }, now],
  ["to a millisecond ahead", null, { to: at(1) }, at(1)],
  ["to a millisecond back", null, { to: at(-1) }, "to"],
  ["to twenty years ahead", null, { to: limit }, limit],
  ["to one millisecond more", null, { to: oneLater }, "to"],
  ["by no time at all", null, { by: "0 days" }, now],
  ["by a minute", null, { by: "1 minute" }, at(60_000)],
  ["by hours, written together", null, { by: "48hours" }, at(48 * 3_600_000)],
  ["by a month, to its last day", null, { by: "1 month" }, new Date("2026-02-28T12:00:00.500Z")],
  ["by weeks", null, { by: "2 weeks" }, new Date("2026-02-14T12:00:00.500Z")],
  ["by twenty years", null, { by: "20 years" }, limit],
  ["by one year more", null, { by: "21 years" }, "by"],
  ["beyond all dates", null, { by: "999999999 years" }, "by"],
  ["nowhere", null, {}, "to"],
  ["on to where it was going", underWay, {}, underWay],
  ["on to where it was going, not as far again", underWay, { by: "1 month" }, underWay],
  ["to another time, where it was going elsewhere", underWay, { to: at(9000) }, at(9000)],
  ["to a time, where both are said", null, { to: at(7), by: "1 year" }, at(7)],
])("a clock goes %s", (_, going, asked, wanted) => {
  const planned = planTarget(now, going, asked);
  if (wanted instanceof Date) expect(planned).toEqual({ target: wanted });
  else expect(planned).toMatchObject({ fault: { loc: ["body", wanted] } });
});
