import { expect, test } from 'vitest'
import { launchdAgent, systemdUnit } from './service-units.ts'

const facts = {
  ...{ self: ['/opt/node bin/node', '/opt/unstuck/bin/unstuck.js'], root: '/srv/50% done/app', isSystem: false },
  environment: { PATH: '/usr/bin:/opt/"x"', UNSTUCK_HOME: '/var/$tate' },
}

const lineOf = (unit: string, key: string): string[] =>
  unit.split('\n').flatMap((line) => (line.startsWith(`${key}=`) ? [line.slice(key.length + 1)] : []))

test('a unit has the program, the folder and the variables, with what systemd would read otherwise escaped', () => {
  const unit = systemdUnit(facts)
  expect(lineOf(unit, 'ExecStart')).toEqual(['"/opt/node bin/node" "/opt/unstuck/bin/unstuck.js" "up"'])
  expect(lineOf(unit, 'WorkingDirectory')).toEqual(['/srv/50%% done/app'])
  expect(lineOf(unit, 'Environment')).toEqual([String.raw`"PATH=/usr/bin:/opt/\"x\""`, '"UNSTUCK_HOME=/var/$tate"'])
  expect(lineOf(systemdUnit({ ...facts, self: ['/a$b%c'] }), 'ExecStart')).toEqual(['"/a$$b%%c" "up"'])
})

test('agents and the store outlive the engine, and a wrong configuration is not repeated', () => {
  const unit = systemdUnit(facts)
  expect([lineOf(unit, 'KillMode'), lineOf(unit, 'RestartPreventExitStatus')]).toEqual([['process'], ['2 78']])
  expect(launchdAgent('x', facts)).toContain('<key>AbandonProcessGroup</key><true/>')
})

test('the unit of the user starts with the session, that of the machine at boot', () => {
  expect(lineOf(systemdUnit(facts), 'WantedBy')).toEqual(['default.target'])
  expect(lineOf(systemdUnit({ ...facts, isSystem: true }), 'WantedBy')).toEqual(['multi-user.target'])
})

test('an agent of launchd is XML whatever the paths are', () => {
  expect(launchdAgent('x', { ...facts, root: '/a&b/<c>' })).toContain('<string>/a&amp;b/&lt;c&gt;</string>')
})
