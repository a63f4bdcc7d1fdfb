/** Which thing of a group is meant, where nobody said it. */
import { promptChoice } from "../ask.ts";
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { GroupEntry, OperationEntry } from "../manifest.ts";
import { renderDetail } from "../ui/detail.ts";
import { arrangeDetail } from "../ui/questions.ts";

import { listPickable } from "./show.ts";

/** The largest page that the server answers. */
export const pageSizeMax = 100;

/** The list of the things of a group, where it needs nothing to be known. */
export const findList = (group: GroupEntry): OperationEntry | undefined =>
  group.operations.find(({ list, params, query }) => list && params.length === 0 && !query.some((one) => one.required));

/** Which of the things of a group is meant, where nobody said it: a person picks it from a list. */
export async function pickOne(context: Context, group: GroupEntry, param: string): Promise<string> {
  const listed = findList(group);
  const see = listed ? ` See: \`floe ${group.name} ${listed.name}\`` : "";
  const absent = new Fault("usage", `missing required argument '${param}'`, {
    asks: true,
    hint: `Give its id or name.${see}`,
  });
  if (!listed || !context.interactive) throw absent;
  const { method, path, ofPerson } = listed;
  const query = { limit: pageSizeMax };
  const { items = [] } = ((await context.call({ method, path, query, organization: !ofPerson })) ?? {}) as {
    items?: { id: string }[];
  };
  if (items.length === 0) throw new Fault("not_found", `there is no ${group.noun} yet`, absent.parts);
  const columns = group.columnsOf?.[listed.name] ?? group.columns;
  const { columns: width = 80, rows = 24 } = context.io.stdout;
  // Line by line, a number stands before each of them.
  const room = Math.min(arrangeDetail(width, rows).list - 2, context.canDraw ? width : width - 8);
  const shown = listPickable(items, columns, room, context.now());
  const paint = { ...context.paint.err(), linkTo: (text: string) => text };
  return promptChoice(
    context,
    `Which ${group.noun}?`,
    items.map((item, index) => ({
      value: item.id,
      label: shown[index] ?? item.id,
      detail: (room: number) => renderDetail(item, paint, room, context.now()).trimEnd().split("\n"),
    })),
  );
}
