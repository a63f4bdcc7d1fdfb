/**
 * An e-mail address with all that RFC 5322 lets stand before the @ without quotes, in the letters of every language
 * (RFC 6531, RFC 5890), at a host that has a name in a domain.
 */
export const emailPattern =
  /^(?=.{1,64}@)[\p{L}\p{M}\p{N}\p{So}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{M}\p{N}\p{So}!#$%&'*+/=?^_`{|}~-]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{M}\p{N}-]{0,61}[\p{L}\p{M}\p{N}])?\.)+(?:xn--[a-zA-Z0-9-]{1,58}[a-zA-Z0-9]|[\p{L}\p{M}]{2,63})$/u;

/** A domain as DNS is asked for it (RFC 5891); in lower case only, where no encoding of it exists. */
function encodeDomain(domain: string): string {
  const url = `http://${domain}`;
  return URL.canParse(url) ? new URL(url).hostname : domain.toLowerCase();
}

/**
 * The one spelling in which an address is kept (CUS-01): without blanks around it, its domain in lower-case ASCII. Before the @,
 * letters outside ASCII are in lower case, because databases disagree on their case. What is no address is only trimmed.
 */
export function encodeEmail(text: string): string {
  const address = text.trim().normalize("NFC");
  if (!emailPattern.test(address)) return address;
  const at = address.lastIndexOf("@");
  const local = address.slice(0, at).replace(/[^\0-\x7f]+/g, (letters) => letters.toLowerCase());
  return `${local}@${encodeDomain(address.slice(at + 1))}`;
}
