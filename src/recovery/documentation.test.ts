import { expect, it } from 'vitest'
import { isDocumentation } from './documentation.ts'

it.each([
  [true, []],
  [true, ['README.md', 'docs/guide.rst', 'LICENSE', 'notes.txt']],
  [false, ['README.md', 'src/a.js']],
  [false, ['requirements.txt']],
  [false, ['lib/requirements-dev.txt']],
  [false, ['CMakeLists.txt']],
])('documentation alone: %s for %j', (holds, paths) => expect(isDocumentation(paths)).toBe(holds))
