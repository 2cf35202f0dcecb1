import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { areasOf, folderArea, overlapOf } from './area.ts'

const paths = (...allowedPaths: string[]): string[] => areasOf({ targetArea: null, allowedPaths })

describe('the areas of a task', () => {
  it.each([
    ['folders before the first wildcard', ['src/api/**', 'docs/*.md'], ['docs', 'src/api']],
    ['single files as they are', ['src/a.ts'], ['src/a.ts']],
    ['none where it may write anywhere', ['**'], []],
    ['none where one of its paths is anywhere', ['src/**', '*.md'], []],
    ['no lockfile, wherever it lies', ['src/**', 'package-lock.json', 'app/Cargo.lock'], ['src']],
    ['a name once, in order', ['b/**', 'a/', './a', 'b'], ['a', 'b']],
  ])('are %s', (_title, allowed, areas) => {
    expect(paths(...allowed)).toEqual(areas)
  })

  it('that are named win over its paths, with commas between them', () => {
    expect(areasOf({ targetArea: 'api, src/ui/, yarn.lock', allowedPaths: ['docs/**'] })).toEqual(['api', 'src/ui'])
    expect(areasOf({ targetArea: folderArea, allowedPaths: ['**'] })).toEqual([folderArea])
  })
})

describe('overlap', () => {
  it.each([
    [['src'], ['src'], true],
    [['src'], ['src/api'], true],
    [['src/api/x'], ['docs', 'src/api'], true],
    [['src'], ['src-old'], false],
    [['src/a'], ['src/b', 'src/ab'], false],
    [[], ['src'], false],
  ])('of %j and %j is %j', (some, others, overlaps) => {
    expect(overlapOf(some, others) !== undefined).toBe(overlaps)
  })

  const segment = fc.constantFrom('a', 'b', 'a-b', 'ab', 'a.b', 'Ä', '0')
  const area = fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => parts.join('/'))
  const areas = fc.array(area, { maxLength: 4 })

  it('holds both ways, for every part of an area, and for nothing that shares no folder', () => {
    fc.assert(
      fc.property(areas, areas, area, segment, (some, others, one, part) => {
        expect(overlapOf(some, others) !== undefined).toBe(overlapOf(others, some) !== undefined)
        expect(overlapOf([one, ...some], [`${one}/${part}`, ...others])).toBeDefined()
        expect(overlapOf([`x/${one}`], [`y/${one}`])).toBeUndefined()
      }),
    )
  })

  it('two tasks that share nothing but a lockfile may run together', () => {
    const [first, second] = [paths('src/a/**', 'package-lock.json'), paths('src/b/**', 'package-lock.json')]
    expect(overlapOf(first, second)).toBeUndefined()
    expect(overlapOf(paths('src/a/**'), first)).toBe('src/a')
  })
})
