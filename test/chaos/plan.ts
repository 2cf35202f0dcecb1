/**
 * What a chaos run does: how many rounds, from which seed, killed where. All dice are rolled here, before anything is
 * started, so that a seed names the whole run.
 */
import { crashPoints, type CrashPoint } from '../../src/runtime/core/context.ts'

export interface Settings {
  roundsPerPoint: number
  randomRounds: number
  /** Kills at points in one world at most. */
  killsPerWorld: number
  seed: number
  /** In every n-th round a real CLI is in the middle of a tool call; 0 = never. */
  realEvery: number
  /** Every point is passed in a world of this kind, where such a world passes it. */
  kind?: Kind
  /** Which store the engines use. */
  store: 'embedded' | 'postgres'
}

const numberOf = (text: string | undefined, standard: number): number => (text === undefined ? standard : Number(text))

/** Defaults are the form of CI, with one real CLI; the long form is CHAOS_ROUNDS=5 CHAOS_RANDOM=30 CHAOS_KILLS=1 CHAOS_REAL_EVERY=3. */
export const settingsOf = (environment: NodeJS.ProcessEnv): Settings => ({
  roundsPerPoint: numberOf(environment.CHAOS_ROUNDS, 1),
  randomRounds: numberOf(environment.CHAOS_RANDOM, 1),
  killsPerWorld: numberOf(environment.CHAOS_KILLS, 6),
  seed: numberOf(environment.CHAOS_SEED, 20_261_121),
  realEvery: numberOf(environment.CHAOS_REAL_EVERY, 22),
  ...(environment.CHAOS_KIND === undefined ? {} : { kind: environment.CHAOS_KIND as Kind }),
  store: environment.CHAOS_STORE === 'postgres' ? 'postgres' : 'embedded',
})

/** mulberry32: small, fast, and the same on every machine. */
export const dice = (seed: number): (() => number) => {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/**
 * `question`: one task ends with a question, so the goal waits for a person. `landing`: everything ends well and the
 * user's branch is fast-forwarded. `moved`: as landing, and the user commits to that branch meanwhile. `direct`: in place, in a
 * plain folder. `remote`: as landing, on a bare repository by URL.
 */
export type Kind = 'question' | 'landing' | 'moved' | 'direct' | 'remote'
export type Cli = 'claude' | 'codex'

/** The engine is killed in this pass of the point. */
export interface Kill {
  point: CrashPoint
  pass: number
}

export interface Round {
  name: string
  kind: Kind
  /** The points, one after the other, or the times after the goal was posted (or the engine was ready again) of the kills. */
  kill: { points: Kill[] } | { delaysMs: number[] }
  real: Cli | null
}

/** How often a world of this kind passes a point for sure; 0 = never. Every point is listed, so a new one does not compile without a plan. */
const passes = (kind: Kind, point: CrashPoint): number => {
  const tasks = kind === 'direct' ? 3 : kind === 'question' ? 5 : 4
  const merged = kind === 'direct' ? 0 : 4
  const moves = kind === 'moved' ? 1 : 0
  const counts: Record<CrashPoint, number> = {
    'goal-created': 1,
    claimed: tasks,
    'workspace-made': kind === 'direct' ? 0 : tasks,
    'launch-intended': tasks,
    'after-spawn': tasks,
    'identity-committed': tasks,
    'gate-open': tasks,
    supervising: tasks,
    'checkout-read': tasks,
    'checkout-reported': 0,
    'agent-ended': tasks,
    'recovery-intended': kind === 'direct' ? 1 : 3,
    collected: tasks,
    'check-passed': kind === 'direct' ? 3 : 4,
    'counterfactual-ran': merged,
    verified: kind === 'direct' ? 3 : 4,
    'commit-intended': merged,
    'commit-made': merged,
    'run-finished': kind === 'direct' ? 3 : 4,
    'run-push': kind === 'remote' ? 4 : 0,
    'run-pushed': kind === 'remote' ? 4 : 0,
    judged: merged,
    'merge-claimed': merged,
    'merge-integrated': merged,
    'merge-push': kind === 'remote' ? 4 : 0,
    'merge-published': merged,
    'merge-recorded': merged,
    'goal-ready': kind === 'question' ? 0 : 1,
    'goal-outdated': moves,
    'goal-rebased': moves,
    'goal-rebase-published': moves,
    'goal-rebase-recorded': moves,
    'goal-reverified': moves,
    'goal-signing-intended': 0,
    'goal-signing-published': 0,
    'goal-push': kind === 'remote' ? 1 : 0,
    'goal-landed': kind === 'landing' || kind === 'moved' || kind === 'remote' ? 1 : 0,
    'goal-branch-kept': 0,
    'goal-branch-removed': 0,
  }
  return counts[point]
}

const kinds: Kind[] = ['landing', 'question', 'direct', 'moved', 'question']

/**
 * No world passes the first for sure: checkout-report.test.ts kills there. No owner of a world signs commits: test/waits/signing.test.ts kills
 * there. The others come after the end of a goal, where a world has ended: test/waits/goal-branches.test.ts and the simulation kill there.
 */
export const killedElsewhere: readonly CrashPoint[] = [
  ...(['checkout-reported', 'goal-signing-intended', 'goal-signing-published'] as const),
  ...(['goal-branch-kept', 'goal-branch-removed'] as const),
]
const killedAt = crashPoints.filter((point) => !killedElsewhere.includes(point))

/** The held CLI works in a clone, which a plain folder has none of. */
const mayHold = (kind: Kind, real: Cli | null): boolean => real === null || kind !== 'direct'

/** The kinds of world that pass the point, in turn; which of them begins differs from point to point. */
const kindFor = (point: CrashPoint, turn: number, real: Cli | null): Kind => {
  const able = kinds.filter((kind) => passes(kind, point) > 0 && mayHold(kind, real))
  return able[turn % able.length] ?? 'remote'
}

const pick = (roll: () => number, from: number, to: number): number => from + Math.floor(roll() * (to - from + 1))

/** Every n-th round is a real one, beginning in the middle of the first n; which CLI it is takes turns. */
const realOf = (number: number, every: number): Cli | null => {
  if (every <= 0 || number % every !== Math.floor(every / 2)) return null
  return Math.floor(number / every) % 2 === 0 ? 'claude' : 'codex'
}

interface PointRound extends Round {
  kill: { points: Kill[] }
}

const nameOf = ({ kill, kind, real }: Omit<PointRound, 'name'>): string =>
  `${kill.points.map(({ point, pass }) => `${point} pass ${pass}`).join(', then ')}, ${kind}${real === null ? '' : `, ${real}`}`

/** Not every task passes these, so after a kill there the other tasks may be past any later point. */
const ofSomeTasks = new Set<CrashPoint>(['recovery-intended'])

const orderOf = ({ kill }: PointRound): number => crashPoints.indexOf((kill.points[0] as Kill).point)

/**
 * One world for several kills, because most of a round's time is its world. The points of a world come in the order in which a task and
 * its goal pass them, and all kills but the last are in the first pass: then nothing has passed the next point yet.
 */
const chained = (rounds: readonly PointRound[], most: number): PointRound[] => {
  const alone = rounds.filter(({ real }) => real !== null)
  const chains = [...Map.groupBy(rounds, ({ kind }) => kind).values()].flatMap((ofKind) => {
    const inOrder = ofKind.filter(({ real }) => real === null).toSorted((a, b) => orderOf(a) - orderOf(b))
    const size = Math.ceil(inOrder.length / most)
    return Array.from({ length: size }, (_value, at) => inOrder.filter((_round, index) => index % size === at))
  })
  // Behind such a kill nothing is sure to pass the next point.
  const endsWorld = (round: PointRound, next: PointRound | undefined): boolean =>
    round.kill.points.some(({ point }) => ofSomeTasks.has(point)) ||
    (next !== undefined && orderOf(next) === orderOf(round))
  const worlds = chains.flatMap((chain) => {
    const ends = chain.flatMap((round, at) => (endsWorld(round, chain[at + 1]) ? [at + 1] : []))
    return [0, ...ends].map((from, at) => chain.slice(from, ends[at])).filter(({ length }) => length > 0)
  })
  return worlds
    .map((chain) => {
      const points = chain.flatMap(({ kill }) => kill.points)
      const first = points.slice(0, -1).map((kill) => ({ ...kill, pass: 1 }))
      const round = { ...(chain.at(-1) as PointRound), kill: { points: [...first, ...points.slice(-1)] } }
      return { ...round, name: nameOf(round) }
    })
    .concat(alone)
}

export const pointRounds = (settings: Settings): PointRound[] => {
  const roll = dice(settings.seed)
  let number = 0
  const rounds = killedAt.flatMap((point, index) =>
    Array.from({ length: settings.roundsPerPoint }, (_value, round): PointRound => {
      number += 1
      const wanted = realOf(number, settings.realEvery)
      const kind =
        settings.kind !== undefined && passes(settings.kind, point) > 0
          ? settings.kind
          : kindFor(point, index + round, wanted)
      // The held CLI's goal is one of a checkout.
      const real = kind === 'remote' ? null : wanted
      const pass = pick(roll, 1, passes(kind, point))
      const made = { kind, kill: { points: [{ point, pass }] }, real }
      return { ...made, name: nameOf(made) }
    }),
  )
  return chained(rounds, settings.killsPerWorld)
}

const longestDelayMs = 9_000

export const randomRounds = (settings: Settings): Round[] => {
  const roll = dice(settings.seed + 1)
  return Array.from({ length: settings.randomRounds }, (_value, round): Round => {
    const delaysMs = Array.from({ length: pick(roll, 1, 3) }, () => pick(roll, 0, longestDelayMs))
    const real = realOf(round + 1, settings.realEvery)
    const able = kinds.filter((kind) => mayHold(kind, real))
    const kind = able[pick(roll, 0, able.length - 1)] as Kind
    const name = `random ${round + 1} after ${delaysMs.join(' and ')} ms, ${kind}${real === null ? '' : `, ${real}`}`
    return { name, kind, kill: { delaysMs }, real }
  })
}
