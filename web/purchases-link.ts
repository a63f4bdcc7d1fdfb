/** Where a page that breaks after a purchase leads to: it can load nothing more, so the link is stored with the confirmation. */

const buildKey = (client_secret: string): string => `purchases:${client_secret}`;

/** Access to what this tab stores; a browser may refuse it to a page in a frame. */
function readStorage<T>(read: (storage: Storage) => T): T | null {
  try {
    return read(sessionStorage);
  } catch (error) {
    if (!(error instanceof DOMException)) throw error;
    return null;
  }
}

/** Store where the buyer of a checkout finds what they bought. */
export function storePurchasesLink(client_secret: string, href: string): void {
  readStorage((storage) => storage.setItem(buildKey(client_secret), href));
}

/** Delete that link, as the payment was refused. */
export function deletePurchasesLink(client_secret: string): void {
  readStorage((storage) => storage.removeItem(buildKey(client_secret)));
}

/** That link, if the current page is of a checkout that was confirmed in this tab. */
export function findPurchasesLink(): string | null {
  const secret = /^\/checkout\/([^/]+)/.exec(location.pathname)?.[1];
  return secret === undefined ? null : readStorage((storage) => storage.getItem(buildKey(secret)));
}
