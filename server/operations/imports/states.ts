import type { ImportRecord, ImportRun } from "../../../shared/api/imports.ts";
import type { StateMachine } from "../../platform/states.ts";

export const importStates: StateMachine<ImportRun["status"]> = {
  table: "import_runs",
  name: "import",
  transitions: [
    { from: "reading", to: "checking", event: "all rows are sent" },
    { from: "checking", to: "planned", event: "all rows are checked" },
    { from: "checking", to: "reading", event: "the source is read again" },
    { from: "planned", to: "reading", event: "the source is read again" },
    { from: "planned", to: "applying", event: "applied" },
    { from: "applying", to: "applied", event: "all rows are applied" },
    { from: "applied", to: "reading", event: "the source is read again" },
    { from: "applied", to: "finished", event: "finished" },
    { from: "reading", to: "rolling_back", event: "rolled back" },
    { from: "checking", to: "rolling_back", event: "rolled back" },
    { from: "planned", to: "rolling_back", event: "rolled back" },
    { from: "applying", to: "rolling_back", event: "rolled back" },
    { from: "applied", to: "rolling_back", event: "rolled back" },
    { from: "rolling_back", to: "rolled_back", event: "nothing is left to remove" },
  ],
};

/** A row of a source. Subscriptions are held until they are switched; other rows are applied. */
export const recordStates: StateMachine<ImportRecord["status"]> = {
  table: "import_records",
  name: "import record",
  transitions: [
    { from: "read", to: "ready", event: "checked" },
    { from: "read", to: "blocked", event: "checked, with a reason" },
    { from: "ready", to: "read", event: "read again" },
    { from: "blocked", to: "read", event: "read again" },
    { from: "undone", to: "read", event: "read again" },
    { from: "ready", to: "applied", event: "applied" },
    { from: "ready", to: "held", event: "applied" },
    { from: "ready", to: "blocked", event: "refused as it was applied" },
    { from: "held", to: "switched", event: "switched" },
    { from: "applied", to: "undone", event: "rolled back" },
    { from: "held", to: "undone", event: "rolled back" },
    { from: "switched", to: "undone", event: "rolled back before floe charged" },
  ],
};
