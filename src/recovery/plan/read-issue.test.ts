import { describe, expect, it } from 'vitest'
import { readIssue } from './read-issue.ts'

const read = (body: string, labels: string[] = []) => readIssue({ id: '7', title: 'A title', body, labels })

describe('the role of an issue', () => {
  it.each<[string, string[], string | undefined]>([
    ['', ['role:tester'], 'tester'],
    ['', ['agent: docser'], 'docser'],
    ['', ['Worker'], 'worker'],
    ['- Role: `docser`', [], 'docser'],
    ['Agent role： tester', [], 'tester'],
    ['## Agent\n\n- worker, please', [], 'worker'],
    ['Role: docser', ['role:tester'], 'tester'],
    ['Role: judge', [], undefined],
    ['```\nRole: worker\n```', [], undefined],
    ['The role: of a worker is hard', [], undefined],
  ])('of %j with %j', (body, labels, role) => {
    expect(read(body, labels).role).toBe(role)
  })
})

describe('the paths of an issue', () => {
  it.each<[string, string[]]>([
    ['', ['**']],
    [
      '## Allowed Paths\n- `src/api`\n- ./README.md\n- src/\\*.ts\n\n## Else\n- other',
      ['src/api', 'src/api/**', 'README.md', 'src/*.ts'],
    ],
    ['Allowed paths: src/, docs/guide.md', ['src', 'src/**', 'docs/guide.md']],
    ['## Allowed Paths\n- .', ['**']],
    ['## Allowed Paths\n- ../outside\n- src', ['src', 'src/**']],
  ])('of %j', (body, paths) => {
    expect(read(body).allowedPaths).toEqual(paths)
  })
})

describe('the issues before an issue', () => {
  it.each<[string, number[]]>([
    ['See #3', []],
    ['Depends on #3 and #12', [3, 12]],
    ['Blocked by https://forge.example/acme/shop/issues/9', [9]],
    ['## Dependencies\n- [ ] #5\n- [x] #4\n\n## Notes\n#6', [4, 5]],
    ['requires #7', []],
    ['```\ndepends on #3\n```', []],
  ])('of %j', (body, numbers) => {
    expect(read(body).dependsOn).toEqual(numbers.map(String))
  })
})

it.each<[string[], number]>([
  [[], 40],
  [['P0'], 90],
  [['priority: high'], 90],
  [['priority:medium'], 60],
])('the priority of an issue with %j', (labels, priority) => {
  expect(read('', labels).priority).toBe(priority)
})
