/** Each playbook of the demo missing alone; CI runs it with all of them missing at once. */
import { expect, it } from 'vitest'
import { allPlaybooks, demoReport, nothing } from '../../support/demo.ts'

it.each(allPlaybooks)('the demo without %s fails for that one', async (name) => {
  const { code, report, leftovers } = await demoReport(['--disable', name])
  expect(code).toBe(1)
  expect(report.missing.filter((entry) => entry.includes('not recovered by') && entry.includes('is disabled'))).toEqual(
    [expect.stringContaining(`not recovered by ${name}`)],
  )
  expect(leftovers).toEqual(nothing)
})
