import { describe, expect, it } from 'vitest'
import { oversized, oversizedText } from './change-size.ts'

const size = (files: number, lines: number) => ({ files, lines, largest: [{ path: 'a', lines }] })

describe('the size of a change', () => {
  it.each<[number, number, { maxFiles: number; maxLines: number }, string[]]>([
    [500, 20_000, { maxFiles: 500, maxLines: 20_000 }, []],
    [501, 1, { maxFiles: 500, maxLines: 20_000 }, ['change.maxFiles']],
    [1, 20_001, { maxFiles: 500, maxLines: 20_000 }, ['change.maxLines']],
    [501, 20_001, { maxFiles: 500, maxLines: 20_000 }, ['change.maxFiles', 'change.maxLines']],
    [501, 20_001, { maxFiles: -1, maxLines: -1 }, []],
    [1, 0, { maxFiles: 0, maxLines: 0 }, ['change.maxFiles']],
  ])('%d files and %d lines with %j', (files, lines, limits, settings) => {
    expect(oversized(size(files, lines), limits)?.limits.map(({ setting }) => setting) ?? []).toEqual(settings)
  })

  it('is said with its limits', () => {
    const large = oversized(size(612, 40_000), { maxFiles: 500, maxLines: 20_000 })
    expect(large === undefined ? '' : oversizedText(large)).toBe(
      '612 files and 40,000 lines, more than change.maxFiles (500) and change.maxLines (20,000) allow',
    )
  })
})
