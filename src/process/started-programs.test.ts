import { expect, it } from 'vitest'
import { programText } from './started-programs.ts'

it.each<[string[], string]>([
  [['/usr/bin/node', '--inspect', '/home/o/tools.js', '--token', 'secret'], 'node /home/o/tools.js'],
  [['npm exec @scope/server secret'], 'npm exec @scope/server'],
  [['/usr/bin/uvx', '-q', 'mcp-server-git', '--repository', '.'], 'uvx mcp-server-git'],
  [['python3', '-m', 'server', 'x'], 'python3 server'],
  [['sleep', '1000'], 'sleep 1000'],
  [['server', 'API_KEY=secret'], 'server'],
  [['server', '--token', 'secret'], 'server'],
  [['sh', '-c', 'serve secret'], 'sh'],
  [['npx', '-y', '@scope/server', 'secret'], 'npx @scope/server'],
])('a program is named with what it runs, without other arguments: %j', (argv, text) => {
  expect(programText(argv)).toBe(text)
})
