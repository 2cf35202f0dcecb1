import { expect, test } from 'vitest'
import { planCheck, scriptOnce } from './plan-check.ts'
import { planCommand } from './command-plan.ts'

test.each([
  ['npm test 2>&1 | tail -20', 'npm test'],
  ['npm test |& tail -n 50', 'npm test'],
  ['cd sub && make check 2>&1 | head -100 | less', 'cd sub && make check'],
  ['pytest -q | tail --lines=5', 'pytest -q'],
  ['cargo test 2>/dev/null', 'cargo test'],
  ['npm run lint > /dev/null 2>&1', 'npm run lint'],
  ['node --test --watch', 'node --test'],
  ['npx vitest watch src', 'npx vitest run src'],
  ['npx -y jest --watchAll=true --ci', 'npx -y jest --ci'],
  ['tsc -w --noEmit 2>&1 | tail', 'tsc --noEmit'],
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

test.each([
  ['node --test --watch', 'node --test'],
  ['vitest --watch', 'npx --no-install vitest'],
  ['tsc -p . -w', 'npx --no-install tsc -p .'],
  ['node --test', undefined],
  ['tsc && nodemon dist/test.js', undefined],
])('the script %s runs once as %s', (script, once) => expect(scriptOnce(script)).toBe(once))

test('an option of another program stays', () => {
  expect(planCheck('sort -w words.txt')).toEqual(planCommand('sort -w words.txt'))
})
