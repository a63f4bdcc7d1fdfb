import { expect, test } from "vitest";
import { isLoopbackHost, isLoopbackUrl } from "../../shared/loopback.ts";

test.each([
  ["localhost", true],
  ["shop.localhost", true],
  ["127.0.0.1", true],
  ["127.3.2.1", true],
  ["::1", true],
  ["[::1]", true],
  [".localhost", false],
  ["0.0.0.0", false],
  ["128.0.0.1", false],
  ["localhost.evil.example", false],
  ["notlocalhost", false],
  ["127.0.0.1.evil.example", false],
  ["127.evil.example", false],
  ["[::1].evil.example", false],
])("%s is this machine alone: %s", (host, isLoopback) => {
  expect(isLoopbackHost(host)).toBe(isLoopback);
});

test.each([
  ["http://LOCALHOST:3000/hooks", true],
  ["http://[::1]:3000", true],
  ["http://2130706433/", true],
  ["https://localhost@evil.example", false],
  ["localhost", false],
  ["", false],
])("%s is an address of this machine alone: %s", (url, isLoopback) => {
  expect(isLoopbackUrl(url)).toBe(isLoopback);
});
