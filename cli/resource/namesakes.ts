/** What is said of a thing that is called as another one: commands do not know which of them a name means. */
import type { Context } from "../context.ts";
import { Fault } from "../fault.ts";
import type { GroupEntry } from "../manifest.ts";
import { removeControls } from "../ui/theme.ts";
import { findNamesakes } from "./names.ts";

/**
 * Warn after a write of a name that it is now that of several things. The write itself has succeeded, and the API
 * keeps no name from being given twice, so it is not refused.
 */
export async function warnOfNamesakes(
  context: Context,
  { name: group, noun }: GroupEntry,
  sent: unknown,
  row: unknown,
): Promise<void> {
  const { name, description } = (sent ?? {}) as { name?: unknown; description?: unknown };
  const called = group === "benefits" ? description : name;
  const { id } = row as { id?: unknown };
  if (typeof id !== "string" || typeof called !== "string" || called === "") return;
  const others = await findNamesakes(context, group, { ...(row as object), id }).catch((error: unknown) => {
    // A key may be good for writing alone, and a server may be gone by now.
    if (error instanceof Fault) return [];
    throw error;
  });
  const [other] = others;
  if (other === undefined) return;
  const which = others.length === 1 ? `Another ${noun} is` : `${others.length} other ${noun}s are`;
  context.say(
    `${which} called "${removeControls(called)}", too (${removeControls(other)}): give ids, or rename one, as the name alone means none of them now.\n`,
  );
}
