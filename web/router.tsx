import {
  type AnchorHTMLAttributes,
  type ComponentType,
  lazy,
  type ReactNode,
  Suspense,
  useSyncExternalStore,
} from "react";

type Page = ComponentType<{ params: Record<string, string> }>;
export type Route = { path: string; load: () => Promise<{ default: Page }> };

const listeners = new Set<() => void>();
const subscribe = (listener: () => void): (() => void) => {
  listeners.add(listener);
  addEventListener("popstate", listener);
  return () => {
    listeners.delete(listener);
    removeEventListener("popstate", listener);
  };
};

/** Goes to a path of this app without loading the page again; the query (theme, embedding) is kept unless one is given. */
export function navigate(path: string, { replace = false } = {}): void {
  const target = path.includes("?") ? path : path + location.search;
  if (replace) history.replaceState(null, "", target);
  else history.pushState(null, "", target);
  scrollTo(0, 0);
  for (const listener of listeners) listener();
}

/** A link within the app. */
export function Link({ href, ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { href: string }) {
  return (
    <a
      {...rest}
      href={href}
      onClick={(event) => {
        if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        navigate(href);
      }}
    />
  );
}

/** The path's parameters where it fits the pattern (`/checkout/:client_secret`), else undefined. */
export function match(pattern: string, path: string): Record<string, string> | undefined {
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

/** A path of this very site to go to next, from a query parameter; anything that leads elsewhere becomes `fallback`. */
export function safePath(next: string | null, fallback = "/", origin = location.origin): string {
  if (!next?.startsWith("/") || !URL.canParse(next, origin)) return fallback;
  const target = new URL(next, origin);
  return target.origin === origin ? target.pathname + target.search + target.hash : fallback;
}

/** The routes with their pages still to be loaded; made once, outside of any component. */
export const prepare = (routes: readonly Route[]) => routes.map(({ path, load }) => ({ path, Component: lazy(load) }));

type RouterProps = { pages: ReturnType<typeof prepare>; Missing: ComponentType; waiting: ReactNode };

/** Shows the page of the current path; each page is loaded when it is first shown. */
export function Router({ pages, Missing, waiting }: RouterProps) {
  const path = useSyncExternalStore(subscribe, () => location.pathname);
  for (const { path: pattern, Component } of pages) {
    const params = match(pattern, path);
    if (params) {
      return (
        <Suspense fallback={waiting}>
          <Component key={path} params={params} />
        </Suspense>
      );
    }
  }
  return (
    <Suspense fallback={waiting}>
      <Missing />
    </Suspense>
  );
}
