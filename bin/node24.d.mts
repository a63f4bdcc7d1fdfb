import type { System } from "./run.mjs";
/** The package with a Node for a system, and a version of it that is known; undefined if npm has none. */
export function findPackage(system: Pick<System, "platform" | "arch">): [name: string, version: string] | undefined;
/** Where a Node of npm may be kept. */
export function findFolders(system?: System, home?: string, own?: string): string[];
/** The program in a folder into which npm has installed the package. */
export function findProgram(folder: string, system?: System): string;
/** The path of a Node of version 24 or newer, fetched when it is first wanted. */
export function findNode(): string;
