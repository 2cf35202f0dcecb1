/**
 * The branch of the user, to which goals land while the user goes on committing: no commit of the user's and no landed one ever
 * leaves it, it only moves forward, and what lands on it passes every test that passed before. What an agent did to it in mischief
 * may be taken back.
 */
import { simulatedTrailers } from './git.ts'
import { failingTests } from './suite.ts'
import type { World } from './world.ts'

/** How the message of a person's own commit begins. */
export const byHand = 'by hand'

export interface Target {
  /** Compares main with what it was the last time. */
  look(): void
}

const reachable = (world: World, tip: string): Set<string> => {
  const seen = new Set<string>()
  const open = [tip]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (seen.has(next)) continue
    seen.add(next)
    open.push(...(world.git.commits.get(next)?.parents ?? []))
  }
  return seen
}

const messageOf = (world: World, commit: string): string => world.git.commits.get(commit)?.message ?? ''

const isLanded = (world: World, commit: string): boolean =>
  simulatedTrailers(messageOf(world, commit))['Unstuck-Task'] !== undefined

const isByHand = (world: World, commit: string): boolean => messageOf(world, commit).startsWith(byHand)

/** What a person's own commits stand on. */
const belowByHand = (world: World, tip: string): string => {
  const [parent] = world.git.commits.get(tip)?.parents ?? []
  return isByHand(world, tip) && parent !== undefined ? belowByHand(world, parent) : tip
}

const tip = (world: World): string => world.git.refs.get('refs/heads/main') ?? ''

export const createTarget = (world: World): Target => {
  const first = tip(world)
  let last = first
  const owned = new Set<string>()
  const belongs = (commit: string): boolean => commit === first || isByHand(world, commit) || isLanded(world, commit)
  /**
   * A tip that an agent put there says nothing: it is taken back when its run ends, and what the agent threw off the branch is there
   * again.
   */
  const lost = (now: string): string | undefined => {
    const present = reachable(world, now)
    if (!belongs(now)) return undefined
    // A person who commits on top of what an agent put there has taken it.
    if (!belongs(belowByHand(world, now))) owned.clear()
    for (const commit of present) if (belongs(commit)) owned.add(commit)
    return [...owned].find((commit) => !present.has(commit))
  }
  const worse = (now: string): string | undefined => {
    const before = new Set(failingTests(world.git.treeOf(last)))
    return failingTests(world.git.treeOf(now)).find((test) => !before.has(test))
  }
  const look = (): void => {
    const now = tip(world)
    if (now === last) return
    const gone = lost(now)
    if (gone !== undefined)
      world.violated(
        'the branch of the user',
        `${messageOf(world, gone).trim().split('\n')[0]} is not on main any more`,
      )
    const broken = isLanded(world, now) ? worse(now) : undefined
    if (broken !== undefined)
      world.violated('the branch of the user', `main was green before ${now} landed, and now this fails: ${broken}`)
    last = now
  }
  return { look }
}
