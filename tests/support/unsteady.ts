import type { Reporter, TestModule } from "vitest/node";

/** Names, at the end of a run, the tests that failed first and passed when they were run again, and fails the run for them. */
export class Unsteady implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const unsteady = modules
      .flatMap((module) => [...module.children.allTests("passed")])
      .filter((test) => test.diagnostic()?.flaky);
    if (!unsteady.length) return;
    process.exitCode = 1;
    console.error(`\n ${unsteady.length} unsteady, passed when run again:`);
    for (const test of unsteady)
      console.error(
        `   ${test.module.relativeModuleId} > ${test.fullName}\n     ${test.result().errors?.[0]?.message}`,
      );
  }
}
