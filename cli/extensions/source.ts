/** Where an extension comes from, as a person names it: a folder, a git repository, or a package of npm. */
import { statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { quote } from "../../shared/shell.ts";
import { Fault } from "../fault.ts";
import { removeControls } from "../ui/theme.ts";
import { installedName, type SourceKind } from "./installed.ts";

export type Source = { kind: SourceKind; name: string; source: string; pin?: string };

const sourceMax = 500;
const forms =
  "A source is a folder (./floe-hello), a git repository (https://… or git@host:acme/floe-hello), or npm:floe-hello.";
/** The short address of a repository that ssh reaches: nothing in it can be taken for a flag. */
const scpLike = /^[a-z0-9][\w.-]*@[a-z0-9][\w.-]*:(?!\/\/)[\w./~-]+$/i;
const packageLike = /^(@[a-z0-9~][a-z0-9._~-]*\/)?[a-z0-9~][a-z0-9._~-]*$/;
/** A tag, a commit or a version: no flag, no range, and no path that leads elsewhere. */
const pinLike = /^[a-z0-9](?!.*\.\.)[\w.+/-]{0,99}$/i;

const buildRefusal = (text: string, why: string, hint = forms): Fault =>
  new Fault("usage", `${quote(removeControls(text).slice(0, sourceMax))} ${why}`, { hint });

/** The name of the command: what stands after `floe-` in the last part of the source. */
function readName(text: string, last: string): string {
  const name = /^floe-(.*)$/.exec(last)?.[1] ?? "";
  if (installedName.test(name)) return name;
  throw buildRefusal(
    text,
    "is not named as an extension is",
    "It is called floe-NAME; NAME has small letters, digits, - and _.",
  );
}

export function checkPin(pin: string): string {
  if (pinLike.test(pin)) return pin;
  throw buildRefusal(pin, "is no tag, commit or version", "For example: --pin v1.2.0");
}

const isOfThisMachine = ({ hostname }: URL): boolean =>
  hostname === "localhost" || /^127(\.\d{1,3}){3}$/.test(hostname);

/** The address of a repository. Passwords are for git's own store of them: an address is shown and kept. */
function readGitAddress(text: string): string {
  if (scpLike.test(text)) return text;
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw buildRefusal(text, "is no address of a repository");
  }
  const isPlain = url.protocol === "http:" && isOfThisMachine(url);
  if (!(["https:", "ssh:"].includes(url.protocol) || isPlain))
    throw buildRefusal(
      text,
      "is not fetched",
      "Repositories come by https:// or ssh://; http:// only from this machine.",
    );
  if (url.password !== "" || (url.username !== "" && url.protocol !== "ssh:"))
    throw buildRefusal(
      `${url.protocol}//…@${url.host}${url.pathname}`,
      "has a password or token in it",
      "Leave it out; git asks its credential helper.",
    );
  if (url.hostname.startsWith("-") || url.username.startsWith("-") || url.search !== "" || url.hash !== "")
    throw buildRefusal(text, "is no address of a repository");
  return url.href;
}

function readPackage(text: string, pin: string | undefined): Source {
  const [, source = "", version] = /^(@?[^@]*)(?:@(.*))?$/s.exec(text.slice("npm:".length)) ?? [];
  if (!packageLike.test(source)) throw buildRefusal(text, "is no name of a package", "For example: npm:floe-hello");
  if (version !== undefined && pin !== undefined)
    throw new Fault("usage", "the version stands twice, after @ and in --pin", { hint: "Give one of them." });
  const chosen = pin ?? version;
  const name = readName(text, source.replace(/^@[^/]*\//, ""));
  return { kind: "npm", name, source, ...(chosen !== undefined && { pin: checkPin(chosen) }) };
}

function readFolder(text: string, pin: string | undefined, home: string | undefined): Source {
  const path = resolve(text.startsWith("~/") && home ? join(home, text.slice(2)) : text);
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) throw buildRefusal(text, "is no folder");
  if (pin !== undefined)
    throw new Fault("usage", "a folder has no versions to stay at", { hint: "Leave --pin out: it is run as it is." });
  return { kind: "folder", name: readName(text, basename(path)), source: path };
}

/** Read what a person named. Only a folder is looked for; nothing is fetched. */
export function readSource(text: string, pin: string | undefined, home: string | undefined): Source {
  if (text === "" || text.length > sourceMax || /\p{Cc}/u.test(text))
    throw buildRefusal(text, "is no source of an extension");
  if (text.startsWith("npm:")) return readPackage(text, pin);
  if (!text.includes("://") && !scpLike.test(text)) return readFolder(text, pin, home);
  const source = readGitAddress(text);
  const last = source.replace(/\/+$/, "").split(/[/:]/).at(-1) ?? "";
  const name = readName(text, last.replace(/\.git$/, ""));
  return { kind: "git", name, source, ...(pin !== undefined && { pin: checkPin(pin) }) };
}
