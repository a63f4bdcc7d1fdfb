/** Extensions on Windows, as far as another system can tell: which files are programs, and how cmd.exe is given their words. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeEach, describe, expect, test } from "vitest";
import { Fault } from "../../cli/fault.ts";
import { findProgram, listPrograms } from "../../cli/find-program.ts";
import { planStart } from "../../cli/windows-start.ts";
import { folder } from "./support.ts";

const platform = "win32";
const bin = folder();
const other = folder();
const write = (at: string, ...names: string[]): void => {
  for (const name of names) writeFileSync(join(at, name), "", { mode: 0o755 });
};
let env: Record<string, string>;
beforeEach(() => {
  env = { HOME: folder(), Path: `relative;;${bin};${other}`, SystemRoot: "C:\\Windows" };
});
write(
  bin,
  "floe-one.cmd",
  "floe-one.exe",
  "floe-two.bat",
  "Floe-Three.EXE",
  "floe-four",
  "floe-five.ps1",
  "floe-six.js",
);
write(other, "floe-one.com", "floe-seven.com", "npm.cmd");

describe("a program on Windows", () => {
  test("is found by PATHEXT, in its order, and only if Windows starts it without another program", () => {
    const find = (name: string, more = {}) =>
      findProgram({ ...env, ...more }, name, { platform, from: env.HOME ?? "" });
    expect(find("floe-one")).toBe(join(bin, "floe-one.exe"));
    expect(find("floe-one", { PATHEXT: ".JS;.CMD;.EXE" })).toBe(join(bin, "floe-one.cmd"));
    expect(find("floe-one", { PATHEXT: ".JS;.PS1" })).toBe(join(bin, "floe-one.exe"));
    expect(find("floe-seven")).toBe(join(other, "floe-seven.com"));
    for (const name of ["floe-four", "floe-five", "floe-six"])
      expect(find(name, { PATHEXT: ".JS;.PS1;.EXE;" })).toBeUndefined();
  });

  test("is listed once, by the file that would be started, whatever its case", () => {
    const listed = listPrograms(env, "floe-", { platform, from: env.HOME ?? "" });
    expect(Object.fromEntries(listed.map(({ name, path }) => [name, path]))).toEqual({
      one: join(bin, "floe-one.exe"),
      two: join(bin, "floe-two.bat"),
      three: join(bin, "Floe-Three.EXE"),
      seven: join(other, "floe-seven.com"),
    });
    expect(listed).toHaveLength(4);
  });

  test("of a checkout is not run", () => {
    const checkout = folder();
    for (const name of [".git", "bin"]) mkdirSync(join(checkout, name));
    write(join(checkout, "bin"), "floe-evil.cmd");
    const Path = join(checkout, "bin");
    expect(findProgram({ ...env, Path }, "floe-evil", { platform, from: checkout })).toBeUndefined();
    expect(findProgram({ ...env, Path }, "floe-evil", { platform, from: folder() })).toBe(join(Path, "floe-evil.cmd"));
  });
});

describe("cmd.exe", () => {
  const script = "C:\\Tools & more\\floe-hello.cmd";
  const plan = (words: string[], more: Record<string, string> = {}) =>
    planStart(script, words, { ...env, ...more }, platform);

  test("gets one line in which every word is a text", () => {
    expect(plan(["--name", "a b", "", "x & calc", "(a|b) <c> ^d !e!", "C:\\dir\\", "日本"])).toEqual({
      file: "C:\\Windows\\System32\\cmd.exe",
      args: [
        ...["/d", "/e:on", "/v:off", "/s", "/c"],
        `""${script}" "--name" "a b" "" "x & calc" "(a|b) <c> ^d !e!" "C:\\dir\\\\" "日本""`,
      ],
      windowsVerbatimArguments: true,
    });
    // Neither the current folder nor a variable of a checkout names the interpreter.
    expect(plan([], { SystemRoot: "windows", ComSpec: "evil.exe" }).file).toBe("C:\\Windows\\System32\\cmd.exe");
  });

  test.each(['say "hi"', '" & calc & "', "%PATH%", "100%", "a\nb", "a\rb", "a\0b"])(
    "is not started with %j",
    (word) => {
      expect(() => plan([word])).toThrow(Fault);
    },
  );

  test("never gets a line that leaves its quotation marks, whatever the words are", () => {
    const word = fc.string({ unit: fc.constantFrom('"', "%", "^", "&", "|", "\\", " ", "a", "!", "\n", "(", "<") });
    fc.assert(
      fc.property(fc.array(word, { maxLength: 4 }), (words) => {
        try {
          const line = plan(words).args.at(-1)?.slice(1, -1) ?? "";
          expect(line).toMatch(/^"[^"%\r\n\0]*"( "[^"%\r\n\0]*")*$/);
          expect(line.match(/"/g)).toHaveLength(2 * (words.length + 1));
        } catch (error) {
          if (!(error instanceof Fault)) throw error;
          expect(words.some((one) => /["%\n]/.test(one))).toBe(true);
        }
      }),
    );
  });

  test("is not needed for an .exe, nor on another system", () => {
    const words = ['say "hi"', "%PATH%"];
    const plain = (file: string) => ({ file, args: words, windowsVerbatimArguments: false });
    expect(planStart("C:\\floe-a.exe", words, env, platform)).toEqual(plain("C:\\floe-a.exe"));
    expect(planStart("/usr/bin/floe-a.cmd", words, env, "linux")).toEqual(plain("/usr/bin/floe-a.cmd"));
  });
});
