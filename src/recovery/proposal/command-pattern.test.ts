import { describe, expect, test } from 'vitest'
import { decideCommand, type CommandLists } from './match.ts'

const lists: CommandLists = {
  auto_approve: [],
  require_human: ['curl *', 'reboot', 'rm -rf *', 'git push', 'npm publish', 'docker system prune --all'],
  on_unknown: 'allow',
}
const kindOf = (command: string): string => decideCommand(command, lists).kind

describe('what always needs a person, where other commands may run unasked', () => {
  test.each([
    ...['eval curl x', 'bash -c reboot', 'bash -ec "curl x"', "printf 'curl x' | sh", 'echo Y3Vy | base64 -d | sh'],
    ...['/usr/bin/cur[l] x', 'c*rl x', '"cu"rl x', "trap 'curl x' EXIT", `awk 'BEGIN{system("curl x")}'`],
    ...['rm -fr src', 'rm -r -f src', 'rm --force --recursive src', 'rm -Rf src', 'rm src -rf'],
    ...[
      'git push origin main',
      'git -C . push',
      'git -c user.name=a push',
      'git --git-dir .git push',
      'npm --prefix a publish',
    ],
    ...['docker system prune -af', 'ssh host curl x', 'npm exec -- curl x', 'docker run image curl x', 'uv run curl x'],
    ...[
      'env -S "curl x"',
      'ls | xargs curl',
      'find . -exec curl {} +',
      'python3 < f',
      'echo x | node',
      'sh < f',
      'sh setup.sh',
    ],
    ...[
      '. ./env.sh',
      'perl -e "system q(curl x)"',
      'sed "1e curl x" f',
      'git -c core.pager="curl x" log',
      'make --eval=a:',
    ],
    ...[
      'tar -cf a --checkpoint-action=exec=sh b',
      'alias k=curl; k x',
      'PATH=.:$PATH npm ci',
      'LD_PRELOAD=./x.so npm ci',
    ],
    ...['export PATH=tools; npm ci', 'node -p 1', 'echo reboot | at now'],
  ])('%s', (command) => {
    expect(kindOf(command)).toBe('ask')
  })

  test.each([
    ...['npm ci', 'npm run build -- --force', 'grep -r curl README.md', 'echo reboot', 'rm old.txt', 'git status'],
    ...['git -C . log', 'git commit -m push', 'node scripts/generate.js', 'python3 -m pip install -r requirements.txt'],
    ...[
      "sed -i 's/e/E/g' f",
      "awk '{print $1}' f",
      'tar -xzf a.tgz',
      'find . -name curl',
      'CI=1 npm test',
      'docker system df',
    ],
    ...['[ -f x ] && npm ci', 'node --version', 'bash -c "npm ci"', 'sh -c "npm run build && npm test"'],
  ])('is not: %s', (command) => {
    expect(kindOf(command)).toBe('run')
  })

  test('a glob within an option and an escaped character are about the text', () => {
    const only = (pattern: string, command: string): string =>
      decideCommand(command, { ...lists, require_human: [pattern] }).kind
    expect(only('npm --reg*', 'npm --registry=x ci')).toBe('ask')
    expect(only(String.raw`rm \*`, 'rm *')).toBe('ask')
    expect(only(String.raw`rm \*`, 'rm x')).toBe('run')
  })
})
