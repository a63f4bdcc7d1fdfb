import type { SpawnSyncOptions, SpawnSyncReturns } from "node:child_process";
import type { EventEmitter } from "node:events";
export type System = {
  platform: string;
  arch: string;
  env: Record<string, string | undefined>;
  execPath: string;
  exists(file: string): boolean;
  realpath(file: string): string;
};
/** The program and the first words by which npm is started. */
export function findNpm(system?: System): string[];
/** Run npm to its end, without a shell. */
export function runNpm(words: string[], options?: SpawnSyncOptions, system?: System): SpawnSyncReturns<string>;
type Child = { connected: boolean; kill(signal: string): unknown; disconnect(): void };
/** Pass the signals of a process on to the server that it started. */
export function passSignals(child: Child, signals?: readonly string[], own?: EventEmitter & { platform: string }): void;
export function findExitCode(code: number | null, signal: string | null): number;
