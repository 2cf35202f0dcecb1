// An agent that leaves the files of a case: `{ path: content }`, null = deleted. What lies in `tools` can be executed.
import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

for (const [path, content] of Object.entries(JSON.parse(readFileSync(process.argv[2], 'utf8')))) {
  if (content === null) rmSync(path, { force: true })
  else {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, content)
    if (path.startsWith('tools/')) chmodSync(path, 0o755)
  }
}
