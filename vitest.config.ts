import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Whole servers and browsers run in these tests, on machines of two cores.
    maxWorkers: 2,
    // Tests of the terminal play a person at it, also where continuous integration runs them.
    env: { CI: "false" },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
