/** Drills of a data folder: a restore after sales, and a full disk. */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBackup, restoreBackup } from "../../server/app/operator-backup.ts";
import { checkRestore, reconcileRestored } from "../../server/app/operator-restore.ts";
import {
  ask,
  checkBooks,
  countOrders,
  type Drill,
  drillSecret,
  ImpossibleHere,
  openSeller,
  openShop,
  promise,
  readMetric,
  sell,
  serve,
  signUp,
  stop,
} from "./drill-shop.ts";
import { eventually } from "./eventually.ts";

export const restore: Drill = {
  about: "a backup is restored after more was sold, and one command settles what the card processor did since",
  async run(say, closing) {
    const place = mkdtempSync(join(tmpdir(), "floe-drill-"));
    closing.push(() => rmSync(place, { recursive: true, force: true }));
    const [from, to, backup] = [join(place, "from"), join(place, "to"), join(place, "backup")];
    const shop = await openShop({ dataFolder: from });
    closing.push(() => shop.close());
    const account = await signUp(from);
    const server = await serve(shop.env);
    closing.push(() => server.child.kill("SIGKILL"));
    const seller = await openSeller(server, account);
    for (let at = 0; at < 3; at += 1) await sell(server, seller);
    const since = new Date(Date.now() - 1000);
    say(`$ floe admin backup ${backup}`);
    const quiet = () => undefined;
    const run = { say: quiet, signal: undefined };
    await createBackup({ ...run, folder: backup, hasSecret: false, given: { FLOE_DATA_DIR: from } });
    for (let at = 0; at < 3; at += 1) await sell(server, seller);
    const charges = shop.countCharges();
    promise("six sales were charged", charges === 6, say);
    await stop(server);
    const given = { ...shop.env, FLOE_DATA_DIR: to, FLOE_SECRET: drillSecret };
    say(`$ floe admin restore ${backup} --data-dir ${to}`);
    await restoreBackup({ ...run, folder: backup, given });
    say("$ floe admin restore-check");
    const { unknown } = await checkRestore({ given, since: null });
    promise("the restore is noticed by what the processor knows", unknown !== undefined, say);
    const paused = await serve({ ...shop.env, FLOE_DATA_DIR: to }, { isReady: false });
    const refused = await sell(paused, seller);
    say(`  floe_restores{state="open"} ${await readMetric(paused, 'floe_restores{state="open"}')}`);
    promise("the server is in maintenance: a sale is refused with 503", refused.status === 503, say);
    await stop(paused);
    say(`$ floe admin reconcile --since ${since.toISOString()} --apply --unknown refund`);
    const outcomes: Record<string, number> = {};
    const report = ({ outcome }: { outcome: string }): void => {
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
    };
    const isSettled = await reconcileRestored({ given, since, isApplied: true, unknown: "refund", report });
    say(`  ${JSON.stringify(outcomes)}`);
    promise("one command settles everything", isSettled, say);
    const again = await serve({ ...shop.env, FLOE_DATA_DIR: to });
    closing.push(() => again.child.kill("SIGKILL"));
    promise("the server sells again", (await sell(again, seller)).status === 200, say);
    promise("nothing was charged twice", shop.countCharges() === charges + 1, say);
    const returned = [...shop.standIn.refunds.values()].length;
    promise(`the money of sales that were lost went back: ${returned}`, returned === 3, say);
    promise("the orders of the backup are there, and the new one", (await countOrders(again, seller)) === 4, say);
    await stop(again);
    await checkBooks(given, say);
  },
};

/** A disk of its own needs a right that not every user has. */
function mountDisk(folder: string, megabytes: number): boolean {
  mkdirSync(folder, { recursive: true });
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", folder], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

export const fullDisk: Drill = {
  about: "the disk of the data folder has no room, and then has it",
  async run(say, closing) {
    const place = mkdtempSync(join(tmpdir(), "floe-drill-"));
    closing.push(() => rmSync(place, { recursive: true, force: true }));
    const disk = join(place, "disk");
    if (!mountDisk(disk, 400)) throw new ImpossibleHere("it needs the right to mount a small disk: run it as root");
    closing.push(() => execFileSync("umount", ["--lazy", disk]));
    const shop = await openShop({ dataFolder: join(disk, "floe") });
    closing.push(() => shop.close());
    const account = await signUp(join(disk, "floe"));
    const server = await serve(shop.env);
    closing.push(() => server.child.kill("SIGKILL"));
    const seller = await openSeller(server, account);
    promise("a sale works", (await sell(server, seller)).status === 200, say);
    const filler = join(disk, "filler");
    const fill = (): void => {
      const { bavail, bsize } = statfsSync(disk);
      // Less room is left meanwhile, as the server writes.
      for (let left = bavail * bsize; left >= bsize; left = Math.trunc(left / 2))
        try {
          writeFileSync(filler, Buffer.alloc(left), { flag: "a" });
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
        }
    };
    fill();
    say("The disk is full.");
    const token = seller.seller.key;
    const create = () =>
      ask(server.url, "POST", "/v1/products/", { body: { name: "Map", prices: [{ amount_type: "free" }] }, token });
    const refused = await eventually(async () => {
      const answer = await create();
      return answer.status === 503 ? answer : undefined;
    }, "a write that is refused");
    say(`  a write is answered ${refused.status} ${String(refused.json.detail ?? "")}`);
    promise("reads are served", (await countOrders(server, seller)) === 1, say);
    // What the server has freed meanwhile may be enough for the probe: the next writes take it.
    const ready = await eventually(async () => {
      const answer = await ask(server.url, "GET", "/readyz");
      if (answer.status === 503) return answer;
      await create();
      return undefined;
    }, "a /readyz of 503");
    say(`  /readyz ${ready.status} ${JSON.stringify(ready.json)}`);
    promise("/readyz is 503 and says that there is no room", ready.status === 503 && ready.json.room === false, say);
    rmSync(filler);
    say("There is room again.");
    await eventually(async () => ((await create()).status === 201 ? true : undefined), "a write");
    promise("writes work again without a restart", true, say);
    promise("a sale works", (await sell(server, seller)).status === 200, say);
    promise("the orders are there", (await countOrders(server, seller)) === 2, say);
    promise("the server stops with exit code 0", (await stop(server)) === 0, say);
  },
};
