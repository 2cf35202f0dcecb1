/**
 * A reporter of vitest for what its JSON report leaves out: errors outside of every test, with the file that was running.
 * They are written beside the report, as `<report>.unhandled`.
 */
import { writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, Vitest } from 'vitest/node'

export default class UnhandledReporter implements Reporter {
  private report: string | undefined

  onInit(vitest: Vitest): void {
    const { outputFile } = vitest.config
    this.report = typeof outputFile === 'string' ? outputFile : outputFile?.json
  }

  onTestRunEnd(_modules: unknown, errors: readonly SerializedError[]): void {
    if (this.report === undefined) return
    const found = errors.map((error) => ({ file: error['VITEST_TEST_PATH'], message: error.message }))
    writeFileSync(`${this.report}.unhandled`, JSON.stringify(found))
  }
}
