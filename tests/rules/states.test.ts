import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { orderStates } from "../../server/billing/orders/states.ts";
import { allowsTransition, moveState, renderDiagram, renderTrigger } from "../../server/platform/states.ts";
import { machines } from "../support/state-machines.ts";

/** Each machine as a whole: what is not listed is refused. */
const expected: Record<string, string> = {
  checkouts: "confirmed>open confirmed>succeeded expired>succeeded open>confirmed open>expired open>succeeded",
  orders:
    "draft>pending paid>partially_refunded paid>refunded partially_refunded>paid partially_refunded>refunded pending>paid pending>void refunded>paid refunded>partially_refunded void>paid void>pending",
  payments: "failed>succeeded pending>failed pending>succeeded",
  payment_setups: "failed>succeeded pending>failed pending>succeeded",
  refunds: "pending>canceled pending>failed pending>succeeded succeeded>canceled succeeded>failed",
  disputes:
    "early_warning>lost early_warning>needs_response early_warning>prevented early_warning>under_review early_warning>won lost>prevented lost>won needs_response>lost needs_response>prevented needs_response>under_review needs_response>won none>early_warning none>lost none>needs_response none>prevented none>under_review none>won prevented>lost prevented>won under_review>lost under_review>prevented under_review>won won>lost won>prevented",
  subscriptions:
    "active>canceled active>past_due active>paused active>trialing past_due>active past_due>canceled past_due>paused paused>active paused>canceled paused>past_due trialing>active trialing>canceled trialing>past_due trialing>paused",
  customer_seats: "claimed>revoked pending>claimed pending>revoked revoked>claimed revoked>pending",
  webhook_events:
    "canceled>pending failed>pending pending>canceled pending>failed pending>skipped pending>succeeded skipped>pending succeeded>pending",
  import_runs:
    "applied>finished applied>reading applied>rolling_back applying>applied applying>rolling_back checking>planned checking>reading checking>rolling_back planned>applying planned>reading planned>rolling_back reading>checking reading>rolling_back rolling_back>rolled_back",
  import_records:
    "applied>undone blocked>read held>switched held>undone read>blocked read>ready ready>applied ready>blocked ready>held ready>read switched>undone undone>read",
};

describe("states", () => {
  test.each(machines)(
    "CHK-55, ORD-13, RFD-09, WHK-11: the $name goes where its table says, and nowhere else",
    (machine) => {
      const states = [...new Set(machine.transitions.flatMap(({ from, to }) => [from, to]))];
      const allowed = states.flatMap((from) =>
        states
          .filter((to) => to !== "none" && allowsTransition(machine, from === "none" ? null : from, to))
          .map((to) => `${from}>${to}`),
      );
      expect(allowed.sort().join(" ")).toBe(expected[machine.table]);
      for (const { from, to } of machine.transitions)
        expect(moveState(machine, { id: "a", status: from === "none" ? null : from }, to)).toBe(to);
    },
  );

  test("another one is an error that names the row", () => {
    const move = () => moveState(orderStates, { id: "order-1", status: "paid" }, "pending");
    expect(move).toThrow("The order order-1 does not go from paid to pending.");
    expect(() => moveState(orderStates, { id: "order-1", status: "paid" }, "paid")).toThrow();
  });

  test("a migration has the trigger of each as it is generated from its table", () => {
    const folder = "server/migrations";
    const migrations = readdirSync(folder).filter((file) => file.endsWith(".sql"));
    const text = migrations.map((file) => readFileSync(`${folder}/${file}`, "utf8")).join("\n");
    for (const machine of machines) expect(text).toContain(renderTrigger(machine));
  });

  test("docs/states.md has the diagram of each, generated from its table", () => {
    const page = readFileSync("docs/states.md", "utf8");
    for (const machine of machines)
      expect(page).toContain(`## ${machine.table}\n\n\`\`\`mermaid\n${renderDiagram(machine)}\n\`\`\`\n`);
  });
});
