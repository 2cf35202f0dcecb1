/** What a repository that could not be opened looks like from outside, so that a change of it is seen without opening it. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Listed } from './listed-repository.ts'

const stampOf = (path: string): string => {
  try {
    const { ino, mtimeMs, ctimeMs } = statSync(path)
    return `${ino} ${mtimeMs} ${ctimeMs}`
  } catch (error) {
    return (error as NodeJS.ErrnoException).code ?? ''
  }
}

export const settingsStamp = ({ stateDir, record }: Listed): string => {
  const root = record?.root ?? ''
  const paths = ['', '.git', '.unstuck', join('.unstuck', 'config.json')].map((name) => join(root, name))
  return [root, ...[stateDir, ...paths].map(stampOf)].join('\n')
}
