/**
 * What git says about objects that are named by their hash never changes, so each of these commands runs once: a task would start about one
 * in six of its git programs only to read the same commit, tree or manifest again.
 */
import { git, type GitOptions, type GitResult } from './git.ts'

/** In characters, of all answers together. */
const mostKept = 4 * 1024 * 1024

/** A larger answer would push out hundreds of small ones. */
const mostOfOne = 256 * 1024

interface Answer {
  result: Promise<GitResult>
  /** 0 until the command has ended. */
  size: number
}

/** By repository and command; the least recently used first. */
const answers = new Map<string, Answer>()
let kept = 0

const drop = (key: string, answer: Answer): void => {
  if (answers.get(key) !== answer) return
  answers.delete(key)
  kept -= answer.size
}

const start = (key: string, args: string[], options: Place): Answer => {
  const answer: Answer = { result: git(args, options), size: 0 }
  answers.set(key, answer)
  answer.result.then(
    (result) => {
      const size = key.length + result.stdout.length
      // A failure is not kept: an object that is not here yet may come, and git words it as a path that the commit lacks.
      if (result.code !== 0 || size > mostOfOne) return drop(key, answer)
      answer.size = size
      kept += size
      for (const [oldest, { size: freed }] of answers) {
        if (kept <= mostKept) return
        if (freed === 0) continue // it has not ended
        answers.delete(oldest)
        kept -= freed
      }
    },
    () => drop(key, answer),
  )
  return answer
}

type Place = Pick<GitOptions, 'cwd' | 'gitDir' | 'okCodes'>

/** Runs a command that only reads objects, each named by its hash; callers at the same time share one. Throws as `git` does. */
export const gitOnObjects = (args: string[], options: Place): Promise<GitResult> => {
  const key = JSON.stringify([options.gitDir ?? options.cwd, options.okCodes, args])
  const known = answers.get(key)
  if (known === undefined) return start(key, args, options).result
  answers.delete(key)
  answers.set(key, known)
  return known.result
}
