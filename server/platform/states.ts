/** The states of a kind of row, and which may follow which. */

/** A change of state, and what causes it. */
export type Transition<State extends string> = { from: State | "none"; to: State; event: string };

/**
 * What an aggregate's `states.ts` declares. The trigger of its table refuses every other change (`renderTrigger`), whatever code or
 * person writes it; only the restore of a sandbox puts rows back as they were.
 */
export type StateMachine<State extends string> = {
  /** The table, by its name in the database. */
  table: string;
  /** What a row is called in an error. */
  name: string;
  transitions: readonly Transition<State>[];
  /** The state of a row as SQL, where no column `status` has it. `row`: what the columns belong to. */
  renderState?: (row: string) => string;
};

export class InvalidTransitionError extends Error {
  override readonly name = "InvalidTransitionError";
}

/** Whether a row may go from one state to another. */
export const allowsTransition = <State extends string>(
  { transitions }: StateMachine<State>,
  from: State | null,
  to: State,
): boolean => transitions.some((one) => one.from === (from ?? "none") && one.to === to);

/** The state that follows, if a row may go there from where it is. */
export function moveState<State extends string, To extends State>(
  machine: StateMachine<State>,
  row: { id: string; status: State | null },
  to: To,
): To {
  if (!allowsTransition(machine, row.status, to))
    throw new InvalidTransitionError(`The ${machine.name} ${row.id} does not go from ${row.status} to ${to}.`);
  return to;
}

/** The trigger that refuses every change of state that is not declared. It runs nothing where the change is. */
export function renderTrigger({ table, transitions, renderState }: StateMachine<string>): string {
  const render = renderState ?? ((row: string) => `${row}."status"`);
  const [before, after] = [`coalesce(${render("OLD")}, 'none')`, `coalesce(${render("NEW")}, 'none')`];
  const allowed = [...new Set(transitions.map(({ from, to }) => `'${from}>${to}'`))].sort();
  return `CREATE TRIGGER "${table}_states" BEFORE UPDATE${renderState ? "" : ' OF "status"'} ON "${table}" FOR EACH ROW
  WHEN (${before} <> ${after} AND ${before} || '>' || ${after} NOT IN (
    ${allowed.join(", ")}))
  EXECUTE FUNCTION "refuse_transition"();`;
}

/** The diagram of the states, for the README of their context. */
export const renderDiagram = ({ transitions }: StateMachine<string>): string =>
  [
    "stateDiagram-v2",
    ...transitions.map(({ from, to, event }) => `  ${from === "none" ? "[*]" : from} --> ${to}: ${event}`),
  ].join("\n");
