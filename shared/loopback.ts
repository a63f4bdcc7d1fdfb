/** Whether a host name, with or without the brackets of a URL, leads to this machine alone. */
export const isLoopbackHost = (host: string): boolean =>
  /^(localhost|.+\.localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host);

/** Whether an address is of this machine alone; false for a text that is no address. */
export const isLoopbackUrl = (url: string | URL): boolean => URL.canParse(url) && isLoopbackHost(new URL(url).hostname);
