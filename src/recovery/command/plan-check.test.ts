import { expect, test } from 'vitest'
import { planCheck } from './plan-check.ts'
import { planCommand } from './command-plan.ts'

test.each([
  ['npm test 2>&1 | tail -20', 'npm test'],
  ['npm test |& tail -n 50', 'npm test'],
  ['cd sub && make check 2>&1 | head -100 | less', 'cd sub && make check'],
  ['pytest -q | tail --lines=5', 'pytest -q'],
  ['cargo test 2>/dev/null', 'cargo test'],
  ['npm run lint > /dev/null 2>&1', 'npm run lint'],
])('%s is %s', (text, plain) => expect(planCheck(text)).toEqual(planCommand(plain)))

test.each([
  'npm test | grep passed',
  'npm test | tee log',
  'npm test > out.txt',
  'npm test || true | tail',
  'grep "a | tail" file.txt; true',
  'npm test | tail -f log | sh',
  "sh -c 'x | tail",
])('%s stays what a shell would have to run', (text) => expect(planCheck(text).ok).toBe(false))

test('what is in quotes stays', () => {
  expect(planCheck('grep "a | tail -5" f')).toEqual(planCommand('grep "a | tail -5" f'))
})
