import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isRepeating, loopOf, mostFrequentCall, type CallTrace, type LoopLimits } from './doom-loop.ts'

const limits: LoopLimits = { sameCalls: 5, pingPong: 4, callsWithoutChange: 60, ownRetries: 30 }
const call = (name: string, answer: string | null = 'same'): CallTrace => ({
  name,
  key: name,
  ...(answer === null ? {} : { result: answer }),
})
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))

describe('the same call', () => {
  it('five times in a row with the same answer is a loop, and names call and count', () => {
    expect(
      loopOf(
        times(4, () => call('Read: a.ts')),
        limits,
      ),
    ).toBeUndefined()
    expect(
      loopOf(
        times(5, () => call('Read: a.ts')),
        limits,
      ),
    ).toEqual({
      call: 'Read: a.ts',
      text: 'it made the same call 5 times in a row and got the same result: Read: a.ts',
    })
  })
  it('with another answer each time is progress', () => {
    expect(
      loopOf(
        times(50, (index) => call('Bash: npm test', `${index} failing`)),
        limits,
      ),
    ).toBeUndefined()
  })
  it('with another end of a long answer is progress', () => {
    const answers = times(20, (index) => call('Read: a.ts', `${'same line\n'.repeat(300)}left: ${index}`))
    expect(loopOf(answers, limits)).toBeUndefined()
  })
  it('with an answer that differs in a duration alone is a loop', () => {
    const answers = times(5, (index) => call('Read: a.ts', `${'same line\n'.repeat(300)}took ${index} ms`))
    expect(loopOf(answers, limits)).toBeDefined()
  })
  it('without an answer yet is not counted', () => {
    expect(loopOf([...times(4, () => call('a')), ...times(9, () => call('a', null))], limits)).toBeUndefined()
  })
  it('with something else in between is none', () => {
    const tests = times(20, (index) =>
      index % 4 === 3 ? { ...call('Edit: a.ts'), key: `edit ${index}` } : call('Bash: npm test'),
    )
    expect(loopOf(tests, limits)).toBeUndefined()
  })
  it('whose input is not reported equals no other', () => {
    expect(
      loopOf(
        times(50, () => ({ name: 'file_change: a.ts', answer: 'completed' })),
        limits,
      ),
    ).toBeUndefined()
  })
  it('is seen at the end only: what was overcome is over', () => {
    expect(loopOf([...times(9, () => call('a')), call('b')], limits)).toBeUndefined()
  })
})

describe('calls in turn', () => {
  it.each([2, 3])('%i of them, four rounds with the same answers, are a loop', (period) => {
    const rounds = (count: number): CallTrace[] => times(count * period, (index) => call(`call ${index % period}`))
    expect(loopOf(rounds(3), limits)).toBeUndefined()
    expect(loopOf(rounds(4), limits)?.text).toMatch(new RegExp(`^it made these ${period} calls in turn 4 times`))
  })
  it('with other answers are none', () => {
    expect(
      loopOf(
        times(40, (index) => call(`call ${index % 2}`, `${index}`)),
        limits,
      ),
    ).toBeUndefined()
  })
})

describe('waiting for something that runs', () => {
  it.each([
    'BashOutput',
    'TaskOutput: shell-1',
    'write_stdin',
    'wait_for_process',
    'Bash: sleep 30; gh run view 7',
    'command_execution: /bin/bash -lc "sleep 5 && cat build.log"',
    'Bash: gh run watch 7',
    'Bash: tail -n 5 -f build.log',
  ])('is no loop: %s', (name) => {
    expect(
      loopOf(
        times(60, () => call(name)),
        limits,
      ),
    ).toBeUndefined()
    expect(
      loopOf(
        times(60, (index) => call(index % 2 === 0 ? name : 'Read: build.log')),
        limits,
      ),
    ).toBeUndefined()
    expect(isRepeating(times(60, () => call(name)))).toBe(false)
  })
})

describe('many calls', () => {
  it('of which few differ are repetitions, in any order', () => {
    const mixed = times(60, (index) => call(`call ${(index * index) % 7}`))
    expect(loopOf(mixed, limits)).toBeUndefined()
    expect(isRepeating(mixed)).toBe(true)
    expect(mostFrequentCall(mixed).text).toMatch(/the most frequent \(\d+ of the last 60\): call \d/)
  })
  it('that always inspect something new are not', () => {
    expect(isRepeating(times(60, (index) => call(`Read: file-${index}.ts`)))).toBe(false)
    expect(isRepeating(times(60, (index) => call(`Read: file-${index % 20}.ts`)))).toBe(false)
  })
  it('need a number that says something', () => {
    expect(isRepeating(times(19, () => call('a')))).toBe(false)
  })
})

it('limits that are off find nothing, and calls that all differ are never a loop', () => {
  const off: LoopLimits = {
    sameCalls: Infinity,
    pingPong: Infinity,
    callsWithoutChange: Infinity,
    ownRetries: Infinity,
  }
  expect(
    loopOf(
      times(100, () => call('a')),
      off,
    ),
  ).toBeUndefined()
  fc.assert(
    fc.property(fc.uniqueArray(fc.string(), { maxLength: 100 }), (names) => {
      expect(
        loopOf(
          names.map((name) => call(name)),
          limits,
        ),
      ).toBeUndefined()
    }),
  )
})

it('a prefix of any kind hides no circle', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.constantFrom('a', 'b', 'c').map((name) => call(name)),
        { maxLength: 50 },
      ),
      (before) => {
        expect(loopOf([...before, ...times(5, () => call('a'))], limits)).toBeDefined()
      },
    ),
  )
})
