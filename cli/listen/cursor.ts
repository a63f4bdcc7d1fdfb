/** Where a listener stopped, kept on disk, so that the next one goes on from there. */
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { findSettingsFolder } from "../cache-folder.ts";

type Env = Record<string, string | undefined>;

/** The place in the stream of one server, organization and forward address. */
export type Cursor = { read(): string | undefined; write(cursor: string): void };

/** The cursor of `place`: every part of it that differs makes another listener. */
export function openCursor(env: Env, place: string[]): Cursor {
  const folder = join(findSettingsFolder(env), "listen");
  const name = createHash("sha256").update(place.join("\n")).digest("hex").slice(0, 24);
  const path = join(folder, `${name}.json`);
  return {
    read() {
      try {
        const { cursor } = JSON.parse(readFileSync(path, "utf8")) as { cursor?: unknown };
        return typeof cursor === "string" && cursor !== "" ? cursor : undefined;
      } catch {
        return undefined;
      }
    },
    write(cursor) {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const fresh = `${path}.${process.pid}.new`;
      writeFileSync(fresh, `${JSON.stringify({ cursor })}\n`, { mode: 0o600 });
      renameSync(fresh, path);
    },
  };
}
