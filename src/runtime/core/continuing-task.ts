/** A new task that continues the work of another one: it has its parent's rules, checks and dependencies. Pure. */
import type { ReworkKind } from '../../domain/rework.ts'
import type { Task } from '../../domain/task.ts'
import type { NewTask } from '../../store/task.ts'

export interface Continuation extends Pick<NewTask, 'id' | 'number' | 'title' | 'instructions'> {
  kind: ReworkKind
  /** Why the parent did not pass. */
  because: string
  harness?: string | undefined
  lane?: Task['lane'] | undefined
  /** Absent = that of the parent. */
  targetArea?: string | null | undefined
  /** Added to the parent's. */
  priority: number
}

export const continuingTask = (parent: Task, given: Continuation): NewTask => {
  const { goalId, role, allowedPaths, deniedPaths, commands, originalCommands, commandSource, dependsOn } = parent
  const { model, engineId, contextFiles, judge } = parent
  const { id, number, title, instructions, because } = given
  const targetArea = given.targetArea === undefined ? parent.targetArea : given.targetArea
  // A conflict is solved in one session, however the work itself was done.
  const kind = given.kind === 'conflict' ? 'code' : parent.kind
  return {
    ...{ id, goalId, number, title, instructions },
    // Who corrects reviewed work makes changes.
    role: role === 'judge' ? 'worker' : role,
    ...{ allowedPaths, deniedPaths, commands, originalCommands, commandSource, dependsOn },
    ...{ targetArea, model, engineId, contextFiles, kind, judge, lane: given.lane ?? parent.lane },
    ...{ harness: given.harness ?? parent.harness, priority: parent.priority + given.priority },
    rework: { parent: parent.id, depth: (parent.rework?.depth ?? 0) + 1, because, kind: given.kind },
  }
}
