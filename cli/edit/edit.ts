/** `floe edit`: one thing as YAML in the person's editor. Nothing is written before it was shown and confirmed. */
import { confirm } from "../ask.ts";
import type { Context } from "../context.ts";
import { type Fault, isFault } from "../fault.ts";
import { removeControls } from "../ui/theme.ts";
import { addProblem, Draft } from "./draft.ts";
import { openItem } from "./item.ts";
import type { EditableGroup } from "./kinds.ts";
import { openRecord } from "./record.ts";
import type { Change, Subject } from "./subject.ts";

export type EditOptions = { yes?: boolean };

const standardEditor = process.platform === "win32" ? "notepad" : "vi";

const getEditor = ({ VISUAL, EDITOR }: Record<string, string | undefined>): string =>
  [VISUAL, EDITOR].find((one) => one?.trim()) ?? standardEditor;

/** What stands above the text. */
const formatHeading = (context: Context, { title }: Subject): string =>
  [
    `# ${removeControls(title)}, at ${context.settings().server}`,
    "# Save and close: floe shows what changes, and asks before it writes.",
    "# A line that you take out clears its field. An empty file changes nothing.",
    "",
  ].join("\n");

/** Whether a text can be mended: the server or floe itself refuses what it says. */
const canMend = (error: unknown): error is Fault =>
  isFault(error) && (error.kind === "error" || error.kind === "usage") && (error.parts.status ?? 422) < 500;

/** Ask the editor until a text can be read and planned; undefined where nothing changes. */
async function requestChange(
  context: Context,
  subject: Subject,
  draft: Draft,
  text: string,
): Promise<Change | undefined> {
  const saved = await draft.open(context, getEditor(context.io.env), text);
  if (saved === undefined) {
    if (text.startsWith("#!")) throw draft.close(subject.createRefusal());
    return undefined;
  }
  try {
    return await subject.plan(saved);
  } catch (error) {
    if (!canMend(error)) throw error;
    return requestChange(context, subject, draft, addProblem(saved, error));
  }
}

/** Show and write a change; a text that the server refuses then is opened again. */
async function editSubject(context: Context, subject: Subject, draft: Draft, options: EditOptions): Promise<boolean> {
  let text = formatHeading(context, subject) + subject.text;
  for (;;) {
    const change = await requestChange(context, subject, draft, text);
    if (!change) return false;
    context.say(change.shown);
    await confirm(context, `Change the ${removeControls(subject.title)}?`, options.yes);
    try {
      await change.write();
      return true;
    } catch (error) {
      if (!canMend(error)) throw error;
      text = addProblem(change.text, error);
    }
  }
}

/** Edit a thing of a group; without an id the one that there is. */
export async function edit(
  context: Context,
  { entry, kind }: EditableGroup,
  id: string | undefined,
  options: EditOptions,
): Promise<void> {
  const subject =
    kind && id !== undefined ? await openItem(context, entry, kind, id) : await openRecord(context, entry, id);
  const draft = new Draft(`${subject.name}.yaml`);
  try {
    const isChanged = await editSubject(context, subject, draft, options);
    context.say(
      isChanged
        ? `${context.paint.err().good("✓")} Changed the ${removeControls(subject.title)}.\n`
        : "Nothing was changed.\n",
    );
  } catch (error) {
    throw draft.close(error);
  }
  draft.remove();
}
