/**
 * Who changed something of the owner's checkout while agents ran: an agent, the owner, or nobody can say. Pure. A program that runs as
 * the owner can commit with the owner's name, so a name proves nothing: what proves an agent is a git command that its run was seen to
 * run there, or a commit from its clone. What proves the owner is that no agent could have written there.
 */
import type { CheckoutPart, CheckoutState } from '../../workspace/checkout-state.ts'
import type { TracedCommand } from '../../workspace/git-trace.ts'
import type { RefChange, RefLogEntry } from '../../workspace/refs.ts'

export interface CheckoutEvidence {
  /** Git commands of runs in the owner's repository since the state before was read. */
  commands: readonly (TracedCommand & { run: string })[]
  /** A run without a sandbox of its own was alive in between. */
  couldWrite: boolean
}

export interface Attribution {
  by: 'agent' | 'owner' | 'unknown'
  run: string | null
  /** The evidence, in words. */
  why: string
}

export interface PartChange {
  part: CheckoutPart
  /** A path, a key of the configuration, or the name of a hook. */
  name: string
  /** What happened to it. */
  how: 'added' | 'changed' | 'removed'
  /** Digests; null = there was none. */
  before: string | null
  after: string | null
}

const words = (text: string): Set<string> => new Set(text.split(/\s+/))
const onRefs = words(
  'am branch checkout cherry-pick commit fast-import fetch merge pull push rebase receive-pack reset revert stash switch symbolic-ref tag update-ref worktree',
)
const onIndex = words(
  'add am apply checkout checkout-index cherry-pick commit merge mv pull read-tree rebase reset restore revert rm stash stage switch update-index',
)
const onParts: Record<CheckoutPart, ReadonlySet<string>> = {
  index: onIndex,
  file: onIndex,
  config: words('branch clone config push remote sparse-checkout submodule'),
  hook: new Set(),
}

const agentBy = ({ run, name }: { run: string; name: string }): Attribution => ({
  by: 'agent',
  run,
  why: `run ${run} ran "git ${name}" in the checkout`,
})

const undecided = ({ couldWrite }: CheckoutEvidence, more = ''): Attribution =>
  couldWrite
    ? { by: 'unknown', run: null, why: `no git command of a run was seen to do it, but an agent could have${more}` }
    : { by: 'owner', run: null, why: 'every agent that ran had a sandbox that keeps it out of the checkout' }

/** The commands that note a `commit`. Another command of the agent at the same second says nothing about a commit of the owner. */
const commits = words('am cherry-pick commit merge pull rebase revert')

/** The git command of a run that made this move of a ref. */
export const commandOfMove = (
  { at, note }: RefLogEntry,
  { commands }: CheckoutEvidence,
): CheckoutEvidence['commands'][number] | undefined => {
  const able = note.startsWith('commit') ? commits : onRefs
  return commands.find(({ name, from, to }) => able.has(name) && from <= at && at <= to)
}

/** Reflog notes of commands that work on a checkout. */
const inCheckout = /^(?:commit|merge|pull|rebase|cherry-pick|revert|am|reset|branch: Created|clone)\b/

/**
 * The entries since the ref was at `before`: all if the ref did not exist then, none if the log does not reach back.
 */
const since = (log: readonly RefLogEntry[], before: string | null): readonly RefLogEntry[] =>
  before === null
    ? log
    : log.slice(
        0,
        Math.max(
          0,
          log.findIndex(({ to }) => to === before),
        ),
      )

/** HEAD points at another branch or commit: was it switched by the newest checkout? */
const switchedTo = (log: readonly RefLogEntry[], after: string): boolean => {
  const to = /^checkout: moving from \S+ to (\S+)$/.exec(
    log.find(({ note }) => note.startsWith('checkout:'))?.note ?? '',
  )
  if (to === null) return false
  return after.startsWith('ref: ') ? after === `ref: refs/heads/${to[1]}` : log[0]?.to === after
}

/**
 * Whether every move in the ref's log is one of a person at work in the checkout. A deleted ref has no log, so its deletion never is.
 */
const isWorkInCheckout = ({ ref, before, after }: RefChange, log: readonly RefLogEntry[]): boolean => {
  if (after === null) return false
  if (ref === 'HEAD') return switchedTo(log, after)
  const moves = since(log, before)
  return moves.length > 0 && moves[0]?.to === after && moves.every(({ note }) => inCheckout.test(note))
}

/**
 * `alike`: the moves look like a person's work in the checkout. Without it, a move of unknown origin (a push, a bare write, a deletion)
 * is none that a person makes there, and is reported as such.
 */
export const attributeRef = (
  change: RefChange,
  log: readonly RefLogEntry[],
  evidence: CheckoutEvidence,
): Attribution & { alike: boolean } => {
  const alike = isWorkInCheckout(change, log)
  const moves = change.ref === 'HEAD' ? log.slice(0, 1) : since(log, change.before)
  const command = moves.map((move) => commandOfMove(move, evidence)).find((found) => found !== undefined)
  if (command !== undefined) return { ...agentBy(command), alike }
  // Without a log there is no time to compare.
  const any = change.after === null ? evidence.commands.find(({ name }) => onRefs.has(name)) : undefined
  if (any !== undefined) return { ...agentBy(any), alike }
  const author = moves[0]?.author
  return { ...undecided(evidence, author === undefined ? '' : `; git's log names ${author}`), alike }
}

export const attributePart = ({ part }: PartChange, evidence: CheckoutEvidence): Attribution => {
  const command = evidence.commands.find(({ name }) => onParts[part].has(name))
  return command === undefined ? undecided(evidence) : agentBy(command)
}

const parts = ['config', 'hook', 'index', 'file'] as const satisfies readonly CheckoutPart[]

/** A part that was not read on one of the sides is not compared. What makes git start programs comes first. */
export const compareParts = (before: CheckoutState, after: CheckoutState): PartChange[] =>
  parts
    .filter((part) => before.notes[part] === undefined && after.notes[part] === undefined)
    .flatMap((part) => {
      const [old, now] = [before[part], after[part]]
      return [...new Set([...Object.keys(old), ...Object.keys(now)])]
        .sort()
        .filter((name) => old[name] !== now[name])
        .map((name): PartChange => {
          const how = old[name] === undefined ? 'added' : now[name] === undefined ? 'removed' : 'changed'
          return { part, name, how, before: old[name] ?? null, after: now[name] ?? null }
        })
    })

/** Keys with which git starts a program, reads another file, or reaches another place than the owner means. */
const startsPrograms =
  /^(?:core\.(?:hookspath|fsmonitor|sshcommand|editor|pager|askpass|gitproxy|attributesfile|worktree)|include(?:if)?\.|filter\.|alias\.|url\.|credential\.|diff\.|merge\.|difftool\.|mergetool\.|gpg\.|remote\.[^]*\.(?:url|pushurl|uploadpack|receivepack|proxy|vcs)|sequence\.editor|pager\.|interactive\.difffilter|submodule\.)/i

/** Whether the change decides what git runs in the checkout the next time. */
export const isDangerous = ({ part, name }: Pick<PartChange, 'part' | 'name'>): boolean =>
  part === 'hook' || (part === 'config' && startsPrograms.test(name))
