/**
 * A vitest reporter for errors outside of every test, which the JSON report leaves out. They are written to
 * `<report>.unhandled`, with the file that was running.
 */
import { writeFileSync } from 'node:fs'
import type { SerializedError } from 'vitest'
import type { Reporter, Vitest } from 'vitest/node'

/** If a worker process dies, vitest names the file only in the message of the error or of its cause. */
const fileOf = (error: SerializedError): unknown =>
  error['VITEST_TEST_PATH'] ??
  [error.message, error.cause?.message]
    .map((text) => / while running test file (.+)$/.exec(text ?? '')?.[1])
    .find(Boolean)

export default class UnhandledReporter implements Reporter {
  private report: string | undefined

  onInit(vitest: Vitest): void {
    const { outputFile } = vitest.config
    this.report = typeof outputFile === 'string' ? outputFile : outputFile?.json
  }

  onTestRunEnd(_modules: unknown, errors: readonly SerializedError[]): void {
    if (this.report === undefined) return
    const found = errors.map((error) => ({ file: fileOf(error), message: error.message }))
    writeFileSync(`${this.report}.unhandled`, JSON.stringify(found))
  }
}
