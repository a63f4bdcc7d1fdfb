import { describe, expect, test } from "vitest";
import { buildPortalLink, parsePortalLink } from "../../server/customers/sessions/portal-link.ts";
import {
  type DownloadableRow,
  listActiveFiles,
  openLink,
  sealLink,
} from "../../server/entitlements/downloads/rules.ts";
import { createShiftedClock, getServerClock } from "../../server/platform/clock.ts";
import {
  isSameText,
  openTokens,
  redactTokens,
  seal,
  sealTokens,
  tryUnseal,
} from "../../server/platform/crypto/secrets.ts";
import { openViewer, sealViewer } from "../../server/platform/crypto/viewers.ts";
import { getFirstId, getTimeOfId } from "../../server/platform/ids.ts";

const now = new Date("2026-05-01T12:00:00Z");
const at = (ms: number) => new Date(now.getTime() + ms);
const [secret, other] = ["a secret of this server that is long enough", "another secret, of another server altogether"];

describe("CUP-28: the link of a mail", () => {
  const days_ms = 30 * 24 * 60 * 60 * 1000;
  const person = { organization_id: "o", customer_id: "c", email: "a@example.com", email_version: 2 };
  const url = buildPortalLink({ url: "https://shop.example", secret }, { slug: "acme", ...person }, now);
  const token = new URLSearchParams(new URL(url).hash.slice(1)).get("link") ?? "";
  test.each<[string, number, readonly string[], boolean]>([
    ["at once", 0, [secret], true],
    ["a millisecond before 30 days are over", days_ms - 1, [secret], true],
    ["as they are over", days_ms, [secret], false],
    ["with a secret before this one", 0, [other, secret], true],
    ["with the secret of another server", 0, [other], false],
  ])("%s", (_, ms, secrets, opens) =>
    opens
      ? expect(parsePortalLink({ secrets }, token, at(ms))).toMatchObject({ ...person, expires_at: at(days_ms) })
      : expect(parsePortalLink({ secrets }, token, at(ms))).toBeUndefined(),
  );
  test("a letter of it changed, or none of it", () => {
    expect(
      parsePortalLink(
        { secrets: [secret] },
        `${token.slice(0, 40)}${token[40] === "A" ? "B" : "A"}${token.slice(41)}`,
        now,
      ),
    ).toBeUndefined();
    expect(parsePortalLink({ secrets: [secret] }, "", now)).toBeUndefined();
  });
});

describe("the address by which a browser reads metrics", () => {
  const viewer = { organization_id: "o", key_id: null, user_id: "u" };
  const token = sealViewer({ secret }, viewer, at(1000));
  test.each<[string, string, number, boolean]>([
    ["a millisecond before it ends", token, 999, true],
    ["as it ends", token, 1000, false],
    ["without its prefix", token.slice(9), 0, false],
    ["with a letter less", token.slice(0, -1), 0, false],
    ["with nothing behind the prefix", "floe_mtr_", 0, false],
  ])("%s", (_, given, ms, opens) =>
    expect(openViewer({ secrets: [secret] }, given, at(ms))).toEqual(opens ? viewer : undefined),
  );
});

describe("downloads", () => {
  test("BEN-20: what is put away is not given, each file once, in its order", () => {
    const list = (files: string[], archived: Record<string, boolean> = {}) => listActiveFiles({ files, archived });
    expect(list([])).toEqual([]);
    expect(list(["b", "a", "b"])).toEqual(["b", "a"]);
    expect(list(["a", "b"], { a: true, b: false })).toEqual(["b"]);
    expect(list(["a"], { a: true })).toEqual([]);
  });
  test("BEN-22: an address says which file until when; of another server, or another kind, it is unknown", () => {
    const row = { organization_id: "o", id: "d" } as DownloadableRow;
    const token = sealLink(secret, row, at(5));
    expect(openLink([secret], token)).toEqual({
      kind: "download",
      organization_id: "o",
      id: "d",
      until: at(5).getTime(),
    });
    expect(openLink([other], token)).toBe("unknown");
    expect(openLink([secret], seal(secret, "portal-link", "", "x".repeat(60)))).toBe("unknown");
    expect(openLink([secret], "A".repeat(60))).toBe("unknown");
    expect(openLink([secret], "A".repeat(59))).toBe("malformed");
    expect(openLink([secret], "A".repeat(600))).toBe("unknown");
    expect(openLink([secret], "A".repeat(601))).toBe("malformed");
    expect(openLink([secret], `${"A".repeat(60)}!`)).toBe("malformed");
  });
});

describe("what is sealed", () => {
  const sealed = seal(secret, "mail", "1", "text");
  test.each<[string, string | null]>([
    ["for its purpose and row", tryUnseal([secret], "mail", "1", sealed)],
    ["with an older secret", tryUnseal([other, secret], "mail", "1", sealed)],
  ])("opens %s", (_, text) => expect(text).toBe("text"));
  test.each<[string, string | null]>([
    ["for another purpose", tryUnseal([secret], "webhook-secret", "1", sealed)],
    ["for another row", tryUnseal([secret], "mail", "2", sealed)],
    ["with another secret", tryUnseal([other], "mail", "1", sealed)],
    ["without any", tryUnseal([], "mail", "1", sealed)],
    ["cut short", tryUnseal([secret], "mail", "1", sealed.slice(0, -2))],
    ["when it is empty", tryUnseal([secret], "mail", "1", "")],
  ])("does not open %s", (_, text) => expect(text).toBeNull());
  test("texts are the same by every letter and their length", () => {
    expect(isSameText("", "")).toBe(true);
    expect(isSameText("ab", "ab")).toBe(true);
    expect(isSameText("ab", "ac")).toBe(false);
    expect(isSameText("ab", "abc")).toBe(false);
    expect(isSameText("é", "e")).toBe(false);
  });
  test("tokens of a text are sealed, shown to nobody else, and come back; what looks sealed is not opened", () => {
    const token = `polar_cst_${"a1B".repeat(14)}x`;
    const link = `polar_cl_${"a1B".repeat(14)}x`;
    const text = `${token} {sealed:x} ${link} ${token}`;
    const kept = sealTokens(secret, "mail", "1", text);
    expect(kept).not.toContain(token);
    expect(kept).toContain(link);
    expect(openTokens([secret], "mail", "1", kept)).toBe(text);
    expect(openTokens([secret], "mail", "2", kept)).not.toContain(token);
    expect(redactTokens(kept)).toBe(`******** {sealed:x} ${link} ********`);
  });
});

describe("clocks and ids", () => {
  const clock = { now: () => now };
  test("a seller's clock is the server's moved, and moved again it is the server's moved once", () => {
    const ahead = createShiftedClock(clock, 1000);
    expect(ahead.now()).toEqual(at(1000));
    expect(getServerClock(ahead)).toBe(clock);
    expect(createShiftedClock(ahead, 500).now()).toEqual(at(500));
    expect(createShiftedClock(ahead, 0)).toBe(clock);
    expect(createShiftedClock(clock, -1).now()).toEqual(at(-1));
  });
  test.each([0, 1, 0xffffffff, now.getTime()])("the first id of %i has that time", (ms) =>
    expect(getTimeOfId(getFirstId(new Date(ms)))).toBe(ms),
  );
  test("ids of a millisecond before are less", () => {
    expect(getFirstId(at(-1)) < getFirstId(now)).toBe(true);
    expect(getFirstId(new Date(-1))).toBe(getFirstId(new Date(0)));
  });
});
