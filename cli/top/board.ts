/** What the dashboard shows at each moment, and what a key does. It knows no terminal: it is told a size, and returns lines. */
import type { Paint } from "../ui/theme.ts";
import {
  composeHead,
  composeHome,
  type Line,
  type Look,
  narrowColumns,
  type Rates,
  renderLine,
  type Target,
} from "./compose.ts";

/** A list or a detail that is opened over the home of the dashboard. */
type Opened = { title: string; lines: Line[] };
type View = { opened?: Opened; selected?: string | undefined; at: number; top: number };
export type Key = "up" | "down" | "enter" | "list" | "browser" | "back";
type Deps = {
  paint: Paint;
  /** How often it looks, in words. */
  rhythm: string;
  list(group: Target["group"]): Promise<Opened>;
  show(target: Target): Promise<Opened>;
  browse(page: string): Promise<void>;
};
export type Board = {
  /** The lines for a terminal of this size; always fewer than it has rows. */
  draw(columns: number, rows: number): string[];
  /** False when the key ends the dashboard. */
  press(key: Key): boolean;
  show(look: Look): void;
  /** Say that the last look failed; what is shown is older. */
  warn(text: string): void;
  /** Call this when there is something else to draw; returns how to stop. */
  watch(listener: () => void): () => void;
};

const minute_ms = 60_000;
const hints = {
  home: ["↑↓ choose · enter detail · l list · o browser · q ends", "q ends · enter · l list · o browser"],
  opened: ["↑↓ move · enter detail · o browser · q back", "q back · enter · o browser"],
} as const;

/** The rate of each meter between the first look and this one; none of what went down, as a period ended. */
function computeRates(first: Look, last: Look): Rates {
  const minutes = (Date.parse(last.now) - Date.parse(first.now)) / minute_ms;
  const before = new Map((first.meters ?? []).map(({ id, consumed_units }) => [id, consumed_units]));
  return new Map(
    (last.meters ?? []).flatMap(({ id, consumed_units }) => {
      const change = consumed_units - (before.get(id) ?? Number.NaN);
      return minutes > 0 && change >= 0 ? [[id, change / minutes] as const] : [];
    }),
  );
}

/** Create the state of a dashboard. */
export function createBoard(deps: Deps): Board {
  const { paint } = deps;
  let first: Look | undefined;
  let last: Look | undefined;
  let note = deps.rhythm;
  let warning: string | undefined;
  let seen: ReadonlySet<string> = new Set();
  let size = { columns: 80, rows: 24 };
  const views: View[] = [{ at: 0, top: 0 }];
  const listeners = new Set<() => void>();
  const notify = (): void => {
    for (const listener of listeners) listener();
  };
  const getView = (): View => views.at(-1) as View;
  const listLines = ({ opened }: View): Line[] => {
    if (opened) return opened.lines;
    return first && last ? composeHome(last, computeRates(first, last), seen, size.columns - 2) : [];
  };
  /** The line of the cursor: what was selected, wherever it stands now, or the first that leads anywhere. */
  const findCursor = (view: View, lines: Line[]): number => {
    const at = lines.findIndex(({ target }) => target !== undefined && target.id === view.selected);
    return at >= 0 ? at : lines.findIndex(({ target }) => target !== undefined);
  };
  const move = (step: number): void => {
    const view = getView();
    const lines = listLines(view);
    const from = findCursor(view, lines);
    if (from < 0) {
      view.at = Math.max(0, Math.min(lines.length - 1, view.at + step));
      return;
    }
    for (let at = from + step; at >= 0 && at < lines.length; at += step) {
      const id = lines[at]?.target?.id;
      if (id === undefined) continue;
      view.selected = id;
      return;
    }
  };
  let isOpening = false;
  /** One at a time: a key that is pressed meanwhile opens nothing else. */
  const open = (work: () => Promise<Opened>): void => {
    if (isOpening) return;
    isOpening = true;
    const depth = views.length;
    work()
      .then(
        (opened) => {
          if (views.length === depth) views.push({ opened, at: 0, top: 0 });
          warning = undefined;
        },
        (error: unknown) => {
          warning = error instanceof Error ? error.message : String(error);
        },
      )
      .finally(() => {
        isOpening = false;
        notify();
      });
  };
  const handleKey = (key: Key): boolean => {
    const view = getView();
    const lines = listLines(view);
    const target = lines[findCursor(view, lines)]?.target;
    if (key === "back") {
      if (views.length === 1) return false;
      views.pop();
    } else if (key === "up") move(-1);
    else if (key === "down") move(1);
    else if (key === "enter" && target) open(() => deps.show(target));
    else if (key === "list" && !view.opened) open(() => deps.list(target?.group ?? "orders"));
    else if (key === "browser")
      deps.browse(target?.page ?? "/").catch(() => {
        warning = "the browser could not be opened";
        notify();
      });
    notify();
    return true;
  };
  const draw = (columns: number, rows: number): string[] => {
    size = { columns, rows };
    if (!last) return [renderLine({ parts: [["Loading…", "dim"]] }, columns, paint)];
    const view = getView();
    const lines = listLines(view);
    const cursor = findCursor(view, lines);
    const room = Math.max(1, rows - 3);
    const focus = cursor < 0 ? view.at : cursor;
    // The cursor stays in sight; a text without one begins where it was scrolled to.
    const least = cursor < 0 ? focus : focus - room + 1;
    view.top = Math.max(0, Math.min(Math.max(view.top, least), focus, Math.max(0, lines.length - room)));
    const head: Line = view.opened
      ? { parts: [[view.opened.title, "strong"]] }
      : composeHead(last, warning === undefined ? note : "");
    const below: Line =
      warning === undefined
        ? { parts: [[hints[view.opened ? "opened" : "home"][columns < narrowColumns ? 1 : 0], "dim"]] }
        : { parts: [[warning, "bad"]] };
    const shown = lines.slice(view.top, view.top + room).map((line, index) => {
      const isCurrent = view.top + index === cursor;
      return renderLine(line, columns, paint, isCurrent ? "❯ " : "  ");
    });
    return rows < 4
      ? shown.slice(0, 1)
      : [renderLine(head, columns, paint), ...shown, renderLine(below, columns, paint)];
  };
  return {
    draw,
    press: handleKey,
    show: (look) => {
      seen = first ? seen : new Set((look.orders ?? []).map(({ id }) => id));
      first ??= look;
      last = look;
      warning = undefined;
      note = deps.rhythm;
      notify();
    },
    warn: (text) => {
      warning = text;
      notify();
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
