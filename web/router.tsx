import { type ComponentType, useSyncExternalStore } from "react";
import { Boundary } from "./parts/Boundary.tsx";
import { loadPart } from "./reload.ts";

type Page = ComponentType<{ params: Record<string, string> }>;
export type Route = { path: string; load: () => Promise<{ default: Page }> };
type Shown = { path: string; params: Record<string, string>; Component: Page };

let routes: readonly Route[] = [];
let shown: Shown | undefined;
const listeners = new Set<() => void>();

/**
 * Loads the page of the current address and only then shows it. React's own way, lazy and Suspense, would take the old
 * page down first and keep the new one back for a third of a second.
 */
async function show(): Promise<void> {
  const path = location.pathname;
  let found: Shown | undefined;
  for (const { path: pattern, load } of routes) {
    const params = match(pattern, path);
    if (!params) continue;
    const Component = await loadPart(load).then(
      (module) => module.default,
      (error: Error) => () => {
        throw error;
      },
    );
    found = { path, params, Component };
    break;
  }
  // The reader may have gone on while it was loading.
  if (path !== location.pathname) return;
  shown = found;
  for (const listener of listeners) listener();
}

/** Declares the routes, the one for everything else last, and resolves once the first page is there to be shown. */
export async function startRouter(declared: readonly Route[]): Promise<void> {
  routes = declared;
  addEventListener("popstate", () => void show());
  await show();
}

/** Goes to a path of this app without loading the page again; the query (theme, embedding) is kept unless one is given. */
export function navigate(path: string, { replace = false } = {}): void {
  const target = path.includes("?") ? path : path + location.search;
  if (replace) history.replaceState(history.state, "", target);
  else history.pushState(null, "", target);
  void show().then(() => {
    scrollTo(0, 0);
    focusHeading();
  });
}

/** Where what had the focus is gone, and the keyboard with it, goes on from the heading of the page. */
export function focusHeading(): void {
  if (document.activeElement !== document.body) return;
  const heading = document.querySelector("h1");
  heading?.setAttribute("tabindex", "-1");
  heading?.focus({ preventScroll: true });
}

/** The path's parameters where it fits the pattern (`/checkout/:client_secret`), else undefined. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
  if (pattern === "*") return {};
  const wanted = pattern.split("/");
  const given = path.replace(/\/+$/, "").split("/");
  if (pattern === "/" ? path !== "/" : wanted.length !== given.length) return undefined;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = given[index] ?? "";
    if (part.startsWith(":") && value) params[part.slice(1)] = value;
    else if (part !== value) return undefined;
  }
  return params;
}

const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  return () => listeners.delete(listener);
};

/** Shows the page of the current path. A failed page can be left for another one. */
export function Router() {
  const page = useSyncExternalStore(subscribe, () => shown);
  return (
    page && (
      <Boundary key={page.path}>
        <page.Component params={page.params} />
      </Boundary>
    )
  );
}
