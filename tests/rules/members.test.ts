import { describe, expect, test } from "vitest";
import { checkAdded, isManager, type MemberRow, planChange } from "../../server/customers/members/rules.ts";

const member = (id: string, role: MemberRow["role"], over: object = {}) =>
  ({ id, role, email: `${id}@example.com`, name: id, external_id: null, ...over }) as MemberRow;
const [owner, admin, plain] = [member("o", "owner"), member("b", "billing_manager"), member("m", "member")];
const team = [owner, admin, plain];
const placesOf = (faults: { loc: readonly unknown[] }[]) => faults.map(({ loc }) => loc.slice(1).join("."));

describe("somebody new of a team", () => {
  type Wanted = Parameters<typeof checkAdded>[0];
  test.each<[string, Wanted, MemberRow[], string[]]>([
    ["another address", { email: "x@example.com", role: "member" }, team, []],
    ["an address that is there, in capitals", { email: "M@EXAMPLE.com", role: "member" }, team, ["email"]],
    [
      "an id that is there",
      { email: "x@example.com", external_id: "1", role: "member" },
      [member("a", "owner", { external_id: "1" })],
      ["external_id"],
    ],
    ["no id, where others have none", { email: "x@example.com", external_id: null, role: "member" }, team, []],
    ["the first owner", { email: "x@example.com", role: "owner" }, [], []],
    ["a second owner", { email: "x@example.com", role: "owner" }, team, ["role"]],
    ["an owner where there is none", { email: "x@example.com", role: "owner" }, [admin, plain], []],
    ["all at once", { email: "o@example.com", role: "owner" }, team, ["email", "role"]],
  ])("%s", (_, wanted, others, places) => expect(placesOf(checkAdded(wanted, others))).toEqual(places));
});

describe("a change of a team", () => {
  test.each<[string, MemberRow, Parameters<typeof planChange>[1], object, string | null, string[]]>([
    ["nothing", plain, {}, {}, null, []],
    ["what it is already", plain, { name: "m", role: "member" }, {}, null, []],
    ["their own address again", plain, { email: "m@example.com" }, {}, null, []],
    ["the address of another", plain, { email: "O@example.com" }, { email: "O@example.com" }, null, ["email"]],
    ["another role", plain, { role: "billing_manager" }, { role: "billing_manager" }, null, []],
    ["the owner takes over from themselves", owner, { role: "owner" }, {}, null, []],
    ["the owner steps back", owner, { role: "member" }, { role: "member" }, null, ["role"]],
    ["a member takes over", plain, { role: "owner" }, { role: "owner" }, "o", []],
  ])("%s", (_, row, patch, changed, demoted, places) => {
    const plan = planChange(row, patch, team);
    expect(plan.patch).toEqual(changed);
    expect(plan.demoted?.id ?? null).toBe(demoted);
    expect(placesOf(plan.faults)).toEqual(places);
  });

  test("the owner and who manages billing may do what costs money; a member may not", () =>
    expect((["owner", "billing_manager", "member"] as const).map(isManager)).toEqual([true, true, false]));
});
