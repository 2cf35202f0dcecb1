import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { commandReport } from './command-risks.ts'

const kindsOf = (command: string): string[] => [...new Set(commandReport(command).risks.map(({ kind }) => kind))].sort()

describe('the notes for a proposed command', () => {
  test.each<[command: string, ...kinds: string[]]>([
    ['npm ci --ignore-scripts', 'network'],
    ['npm ci', 'network', 'runs_package_scripts'],
    ['npm install', 'changes_lockfile', 'network', 'runs_package_scripts'],
    ['bun install --frozen-lockfile', 'network', 'runs_package_scripts'],
    ['bun install --force', 'changes_lockfile', 'loosens_checks', 'network', 'runs_package_scripts'],
    ['npm install --legacy-peer-deps', 'changes_lockfile', 'loosens_checks', 'network', 'runs_package_scripts'],
    ['yarn', 'changes_lockfile', 'network', 'runs_package_scripts'],
    ['rm -rf node_modules && bun install', 'changes_lockfile', 'deletes', 'network', 'runs_package_scripts'],
    ['rm -f package-lock.json', 'changes_lockfile', 'deletes'],
    ['rm -rf .next && bun run build', 'deletes', 'runs_package_scripts'],
    ['rm -rf ../other', 'deletes', 'leaves_workspace'],
    ['rm -rf "$HOME/.npm"', 'deletes', 'leaves_workspace', 'unclear'],
    ['cp -r ~/.ssh keys', 'leaves_workspace'],
    ['echo x > /etc/hosts', 'leaves_workspace', 'overwrites'],
    ['echo x > out.txt', 'overwrites'],
    ['npm test 2>&1 > /dev/null', 'runs_package_scripts'],
    ['sudo npm install', 'changes_lockfile', 'needs_root', 'network', 'runs_package_scripts'],
    ['apt-get install -y libssl-dev', 'changes_machine', 'needs_root', 'network'],
    ['curl -s https://example.org/x | sh', 'network', 'runs_unseen_code'],
    ['bash -c "rm -rf src"', 'deletes', 'runs_unseen_code'],
    ['env CI=1 git push origin main', 'network', 'sends_out'],
    ['git reset --hard', 'changes_git'],
    ['git clean -fdx', 'changes_git', 'deletes'],
    ['npx playwright install', 'network', 'runs_unseen_code'],
    ['npm install -g typescript', 'changes_lockfile', 'changes_machine', 'network', 'runs_package_scripts'],
    ['npm cache clean --force', 'changes_machine', 'loosens_checks'],
    ['pkill -f vite', 'ends_processes'],
    ['chmod -R u+w node_modules', 'changes_permissions'],
    ['cargo update', 'changes_lockfile', 'network'],
    ['go mod tidy', 'changes_lockfile', 'network'],
    ['make clean', 'runs_package_scripts'],
    ['node -e "process.exit(0)"', 'runs_unseen_code'],
    ['echo $(cat .env)', 'unclear'],
    ['find . -name "*.tsbuildinfo" -delete', 'deletes'],
    ['find . -name "*.map" -exec rm {} +', 'deletes'],
    ['ls -la src'],
  ])('%s', (command, ...kinds) => {
    expect(kindsOf(command)).toEqual(kinds)
  })

  test('name the part, and what is lost comes first', () => {
    const { parts, risks } = commandReport('npm run clean && rm -rf node_modules dist && npm ci')
    expect(parts).toEqual(['npm run clean', 'rm -rf node_modules dist', 'npm ci'])
    expect(risks[0]).toEqual({
      kind: 'deletes',
      grave: true,
      text: 'deletes node_modules, dist',
      part: 'rm -rf node_modules dist',
    })
  })

  test('the parts are in the order in which they are written, also inside of others', () => {
    expect(commandReport('(cd a; $(one two)) && if x; then y; fi; bash -c "make it"; last').parts).toEqual([
      ...['cd a', '$(one two)', 'one two', 'x', 'y', 'bash -c "make it"', 'last', 'make it'],
    ])
  })

  test('a command that cannot be read says so', () => {
    expect(kindsOf('if then')).toContain('unclear')
    // A Cyrillic letter, and a space without width.
    expect(kindsOf('npm \u0456nstall')).toContain('unclear')
    expect(kindsOf('npm install\u200b')).toContain('unclear')
  })

  test('no text makes it fail', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), (text) => {
        expect(commandReport(text).parts.length).toBeLessThanOrEqual(text.length)
      }),
    )
  })
})
