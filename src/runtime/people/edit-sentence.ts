/** An edit of a task as one sentence: who changed which field, the old and new value, why, and when it takes effect. Pure. */

const fieldNames: Record<string, string> = {
  allowedPaths: 'paths',
  deniedPaths: 'denied paths',
  commands: 'checks',
  instructions: 'text',
}

type Value = string | string[] | null

interface Edited {
  by?: string
  why?: string
  counts?: string
  changes?: { field: string; before: Value; after: Value }[]
}

const longest = 120

const words = (value: Value): string => {
  const said = Array.isArray(value) ? value.join(', ') : (value ?? 'default')
  return said.length > longest ? `${said.slice(0, longest)}…` : said
}

export const editSentence = ({ by = 'a person', why = '', counts, changes = [] }: Edited): string => {
  const list = changes.map(
    ({ field, before, after }) => `the ${fieldNames[field] ?? field} from "${words(before)}" to "${words(after)}"`,
  )
  const because = why === '' ? '' : `, because: ${why}`
  return `${by} changed ${list.join(' and ')}${because}${counts === 'next attempt' ? ' (from the next attempt on)' : ''}`
}
