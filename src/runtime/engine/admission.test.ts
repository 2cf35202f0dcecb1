import { describe, expect, it } from 'vitest'
import { shortageKind, shortageOf } from './admission.ts'

const limits = { minFreeDiskMb: 1024, minFreeMemoryMb: 256, maxLoadPerCore: 2 }
const plenty = { freeDiskMb: 50_000, freeMemoryMb: 8_000, loadPerCore: 0.5 }

describe('admission', () => {
  it('lets work begin where there is enough of everything, or nothing is known', () => {
    expect(shortageOf(plenty, limits)).toBeUndefined()
    expect(
      shortageOf({ freeDiskMb: undefined, freeMemoryMb: undefined, loadPerCore: undefined }, limits),
    ).toBeUndefined()
    expect(shortageOf({ ...plenty, loadPerCore: 99 }, { ...limits, maxLoadPerCore: -1 })).toBeUndefined()
  })

  it.each([
    [{ freeDiskMb: 300.7 }, 'waiting for disk: 300 MB free of 1 GB'],
    [{ freeMemoryMb: 255 }, 'waiting for memory: 255 MB free of 256 MB'],
    [{ loadPerCore: 2.13 }, 'waiting for load: 2.1 per core, at most 2'],
  ])('%j is told with its numbers', (more, text) => expect(shortageOf({ ...plenty, ...more }, limits)).toBe(text))

  it('is told once per kind, whatever the numbers do', () => {
    expect(shortageKind('waiting for disk: 1 MB free of 1 GB')).toBe(
      shortageKind('waiting for disk: 2 MB free of 1 GB'),
    )
    expect(shortageKind(null)).toBe('')
  })
})
