import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.{ts,tsx}"],
    // Whole servers and browsers run in these tests, on machines of two cores.
    maxWorkers: 2,
    // No test changes what modules share, and loading the server anew for each file took a fifth of the time.
    isolate: false,
    // Tests of the terminal play a person at it, also where continuous integration runs them.
    env: { CI: "false" },
    testTimeout: 30_000,
    hookTimeout: 60_000,
  },
});
