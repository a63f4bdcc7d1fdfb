import { type ComponentType, lazy } from "react";

/** A page that was loaded again so short a time ago is not loaded once more: its parts are missing for another reason. */
const pauseMs = 60_000;
let isReloading = false;

/** Whether the page is about to be loaded again. */
export const isLeaving = (): boolean => isReloading;

const isReload = (): boolean =>
  performance.getEntriesByType("navigation").some((entry) => (entry as PerformanceNavigationTiming).type === "reload");

/**
 * Loads a part of the app. Where it cannot be had, the page is loaded again, once: after a deploy the files that it names are gone.
 * Offline it is not, as the reader would lose the page.
 */
export async function loadPart<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    if (!isReloading && navigator.onLine && !(isReload() && performance.now() < pauseMs)) {
      isReloading = true;
      location.reload();
    }
    throw error;
  }
}

/** A component in a file of its own, which is loaded when it is drawn first. */
export const createLazyPart = <Props extends object>(load: () => Promise<{ default: ComponentType<Props> }>) =>
  lazy(() => loadPart(load));
