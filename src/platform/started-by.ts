/**
 * Whether a process was started by a shim of ours, at any depth: by its own signs and those of its parents. The marker in the
 * environment names the run; the inherited limit and the control group (mark.ts) remain where the environment was cleared and the parent
 * has ended. A process of the same user can rid itself of all of them on purpose: SECURITY.md says what follows.
 */
import { markInGroup, markInLimits } from './mark.ts'
import { isLinux, readOrUndefined } from './proc.ts'
import { parentPidOf } from './process.ts'
import { defined } from '../domain/defined.ts'

export interface Sign {
  /** The value of the marker; absent = only the inherited mark is left. */
  marker?: string
  mark?: string
}

const variable = (pid: number, name: string): string | undefined =>
  (readOrUndefined(`/proc/${pid}/environ`) ?? '')
    .split('\0')
    .find((entry) => entry.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/** The process and its parents, nearest first. */
const lineOf = (pid: number): number[] => {
  const line: number[] = []
  for (let at: number | undefined = pid; at !== undefined && at > 1 && !line.includes(at); at = parentPidOf(at))
    line.push(at)
  return line
}

/** The signs of a process and of its parents, nearest first. Empty where the system does not report them. */
export const signsOf = (pid: number, markerName: string): Sign[] =>
  !isLinux
    ? []
    : lineOf(pid).flatMap((at): Sign[] => {
        const marker = variable(at, markerName)
        const mark = markInLimits(at) ?? markInGroup(at)
        if (marker === undefined && mark === undefined) return []
        return [{ ...defined({ marker, mark }) }]
      })

/**
 * The signs that are not those of `self` as well: an engine that itself runs below another engine's agent shares that agent's signs
 * with every program there, and they say nothing about its own runs.
 */
export const foreignSigns = (pid: number, self: number, markerName: string): Sign[] => {
  const own = signsOf(self, markerName)
  return signsOf(pid, markerName).filter(
    ({ marker, mark }) =>
      (marker !== undefined && own.every((sign) => sign.marker !== marker)) ||
      (mark !== undefined && own.every((sign) => sign.mark !== mark)),
  )
}
