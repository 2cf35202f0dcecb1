/** What the pages of goals and tasks are given, and what the first pages show before there is a goal. */
import type { BoardGoal, BoardQuestion } from '../logic/board.ts'
import type { ServerClock } from '../logic/clock.ts'
import { CommandLine } from '../parts/basics.tsx'

export interface PageData {
  goals: readonly BoardGoal[]
  /** How many older ended goals are not listed. */
  leftOut: number
  questions: readonly BoardQuestion[]
  clock: ServerClock
}

export const NoGoal = () => (
  <section className="empty-state">
    <h1>No goal yet</h1>
    <p>Start one from a terminal in the repository. Its progress appears here.</p>
    <CommandLine text={'unstuck run "Fix the failing test in src/parser"'} />
    <p className="quiet">
      A Markdown checklist or a task file works too: <code>unstuck run tasks.md</code>. All commands:{' '}
      <code>unstuck --help</code>.
    </p>
  </section>
)
