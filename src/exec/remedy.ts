/** What a user can do about a refusal or a failure, in the options of the CLI that reported it. */
import type { Driver } from '../harness/driver.ts'
import { folderInWords, type Refused } from '../harness/remedy-words.ts'
import { overflowAdvice } from '../recovery/limit.ts'
import { shellQuoted } from '../recovery/command/replacement.ts'

/** How to allow a refused call, as the rest of "To allow it: …". */
export const remedyOf = (driver: Driver, refused: Refused, stderr: readonly string[] = []): string => {
  const { kind, target } = refused
  if (kind === 'safety') return 'nothing allows this; change the task'
  if (kind === 'filesystem')
    return target === undefined
      ? 'correct the mode or the owner of the folder'
      : `make ${shellQuoted(folderInWords(refused))} writable for this user: chmod u+rwx ${shellQuoted(folderInWords(refused))}`
  return driver.remedy?.(refused, { stderr }) ?? 'allow it by the options of that program'
}

/** What was refused, by its path or command. */
export const refusedSubject = ({
  tool,
  target,
  text,
}: {
  tool: string
  target?: string | null
  text: string
}): string => target ?? (tool === '' ? `something ("${text}")` : `the tool ${tool}`)

/** What a person can do about a failure of this label; undefined where only the CLI's own words help. */
export const failureAdvice = (driver: Driver, label: string): string | undefined => {
  switch (label) {
    case 'auth_failure':
      return driver.login === undefined ? undefined : `${driver.login.advice}; then run the command again`
    case 'GIT_TRUST_ERROR':
    case 'GIT_CHECK_ERROR':
      return driver.userCommand?.trustAdvice
    case 'model_missing':
      return 'give a model that the account may use (-m, --model)'
    case 'context_overflow':
      return overflowAdvice
    case 'doom_loop':
      return 'say in the task what to do instead, and run the command again'
    default:
      return undefined
  }
}
