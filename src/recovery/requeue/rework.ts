/** The text of a task that continues the work of one that did not pass. Pure. */
import type { Task } from '../../domain/task.ts'

const titleStart = '[Rework] '

/** Prefixed once, however many tasks the chain has. */
export const reworkTitle = (title: string): string => (title.startsWith(titleStart) ? title : `${titleStart}${title}`)

const heading = '## Rework'
const marker = (parent: string): string => `[auto-rework] parentTask=${parent}`

/** The text that a person or a plan wrote, and the markers of the tasks before the parent. */
const partsOf = (instructions: string): { own: string; markers: string[] } => {
  const at = instructions.lastIndexOf(`${heading}\n`)
  if (at === -1 || !instructions.slice(at).includes(marker(''))) return { own: instructions, markers: [] }
  return {
    own: instructions.slice(0, at).trimEnd(),
    markers: instructions
      .slice(at)
      .split('\n')
      .filter((line) => line.startsWith(marker(''))),
  }
}

const longestReason = 1_000
const mostTried = 8

interface Given {
  /** What the goal asks for; used where the parent has no instructions of its own. */
  requirement: string
  /** Why the parent did not pass. */
  because: string
  /** What was tried, one line each. */
  tried: readonly string[]
}

/** The parent's instructions, why it did not pass and what was tried. The section of an earlier parent is replaced. */
export const reworkInstructions = (
  parent: Pick<Task, 'id' | 'number' | 'instructions' | 'hint'>,
  { requirement, because, tried }: Given,
): string => {
  const { own, markers } = partsOf(parent.instructions === '' ? requirement : parent.instructions)
  return [
    own,
    '',
    heading,
    `Task ${parent.number} did this work before you and did not pass. What it changed is in the workspace: read it first, keep what is right, and correct the cause below in another way than before.`,
    `Why it did not pass: ${because.slice(0, longestReason)}`,
    ...(tried.length === 0 ? [] : ['What was tried:', ...tried.slice(-mostTried).map((line) => `- ${line}`)]),
    ...(parent.hint === null ? [] : [`A person says: ${parent.hint}`]),
    ...markers,
    marker(parent.id),
  ].join('\n')
}
