import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { getBucket } from "../../server/platform/limits/addresses.ts";

/** CVE-2026-45364: a limit must not be passed by spelling an IPv6 address otherwise, or by another address of one's /64. */
const hextet = fc.integer({ min: 0, max: 0xffff });
const hextets = fc.tuple(hextet, hextet, hextet, hextet, hextet, hextet, hextet, hextet);
const octet = fc.integer({ min: 0, max: 255 });
const spelled = (parts: readonly number[]) => parts.map((part) => part.toString(16)).join(":");
const padded = (parts: readonly number[]) =>
  parts.map((part) => part.toString(16).padStart(4, "0").toUpperCase()).join(":");
/** The one spelling of RFC 5952 leaves out zeros; Node's URL writes it. */
const short = (parts: readonly number[]) => new URL(`http://[${spelled(parts)}]`).hostname.slice(1, -1);
/** Not IPv4 in IPv6 clothes, and none of the ranges with a meaning of their own. */
const ordinary = hextets.filter(([first]) => first >= 0x2000 && first < 0x4000);

describe("what an address counts as", () => {
  test("every spelling of an IPv6 address is the same (CVE-2026-45364)", () => {
    fc.assert(
      fc.property(ordinary, (parts) => {
        const buckets = [spelled(parts), padded(parts), short(parts), `${spelled(parts)}%eth0`].map(getBucket);
        expect(new Set(buckets).size).toBe(1);
      }),
    );
  });

  test("every address of a /64 is the same, another /64 is another (CVE-2026-45364)", () => {
    fc.assert(
      fc.property(ordinary, hextets, (a, b) => {
        const [one = 0, two = 0, three = 0, four = 0] = a;
        const [, , , , ...rest] = b;
        expect(getBucket(spelled([one, two, three, four, ...rest]))).toBe(getBucket(spelled(a)));
        expect(getBucket(spelled([one, two, three, four ^ 1, ...rest]))).not.toBe(getBucket(spelled(a)));
      }),
    );
  });

  test("an IPv4 address is the same in IPv6 clothes, and each IPv4 address is its own (CVE-2026-45364)", () => {
    fc.assert(
      fc.property(octet, octet, octet, octet, (a, b, c, d) => {
        const plain = [a, b, c, d].join(".");
        const hex = `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`;
        const spellings = [plain, `::ffff:${plain}`, `::FFFF:${hex}`, `0:0:0:0:0:ffff:${hex}`];
        expect(new Set(spellings.map(getBucket)).size).toBe(1);
        expect(getBucket([a, b, c, d ^ 1].join("."))).not.toBe(getBucket(plain));
      }),
    );
  });

  test("what is no address is one bucket, not one each", () => {
    expect(getBucket("x")).toBe(getBucket("y"));
  });
});
