/**
 * Git without a disk: commits are trees of path to content, a ref moves by compare-and-swap, a merge is three-way by path.
 * As in the real one, equal input gives an equal object, objects are seen where they were brought to, and the user's
 * repository, the shadow and each clone are places of their own.
 */
import { createHash } from 'node:crypto'
import { AppError } from '../../src/errors.ts'
import type { Git } from '../../src/runtime/core/ports.ts'
import type { ForwardRequest } from '../../src/workspace/forward.ts'
import type { FileChange, FastForward, Repository } from '../../src/workspace/repository-types.ts'
import { traceVariables } from '../../src/workspace/git-trace.ts'
import { compareRefs } from '../../src/workspace/refs.ts'
import type { RestoreRequest, RestoreResult } from '../../src/workspace/restore-checkout.ts'
import type { Shadow } from '../../src/workspace/shadow.ts'

export type Tree = ReadonlyMap<string, string>

export interface Commit {
  tree: string
  parents: string[]
  message: string
}

export interface Clone {
  base: string
  branch: string
  files: Map<string, string>
  /** Commits that an agent made in its own clone. */
  tips: string[]
  objects: Set<string>
}

export interface SnapshotRecord {
  id: string
  runId: string
  commit: string
  tree: string
  reason: string
  at: string
}

/** As the ports, but answered at once: the simulated ports put a step, and perhaps a fault, around each. */
export type Now<T> = { [K in keyof T]: T[K] extends (...args: infer A) => Promise<infer R> ? (...args: A) => R : T[K] }

/** Agents of the simulation change branches only and start no git, so nothing here takes a step or can fail. */
export const ofCheckout = {
  compareRefs,
  traceVariables,
  readCheckout: async () => ({ index: {}, file: {}, config: {}, hook: {}, notes: {} }),
  readGitTrace: async () => ({ commands: [], complete: true }),
  restoreIndex: async () => 'done',
  holdCheckout: async () => undefined,
  keepHeld: async () => undefined,
  readConfigValues: async () => ({}),
  // The owner of the simulation signs no commits.
  readSigning: async () => undefined,
  trySigning: async () => ({ ok: false, detail: 'not simulated' }),
  signCommits: async () => ({ ok: false, detail: 'not simulated' }),
} satisfies Partial<Git>

export interface SimGit {
  root: string
  refs: SimulatedRefs
  trees: Map<string, Tree>
  commits: Map<string, Commit>
  userObjects: Set<string>
  shadowObjects: Set<string>
  userFiles: Map<string, string>
  clones: Map<string, Clone>
  snapshots: Map<string, SnapshotRecord>
  addTree(files: Tree): string
  addCommit(commit: Commit): string
  treeOf(object: string): Tree
  isAncestor(commit: string, tip: string): boolean
  /** Told before a clone goes. */
  onDiscard: (dir: string, clone: Clone) => void
  calls: Now<Omit<Git, keyof typeof ofCheckout>>
}

/** With the log that git keeps of a branch. */
export class SimulatedRefs extends Map<string, string> {
  readonly moves: { ref: string; to: string; note: string; at: number; author: string }[] = []

  move(ref: string, to: string, note: string): void {
    this.set(ref, to)
    this.moves.unshift({ ref, to, note, at: 0, author: 'somebody' })
  }
}

const nameOf = (value: unknown): string => createHash('sha1').update(JSON.stringify(value)).digest('hex')

const sorted = (files: Tree): [string, string][] => [...files].sort(([a], [b]) => (a < b ? -1 : 1))

const changesOf = (from: Tree, to: Tree): (FileChange & { oldObject: string; newObject: string })[] => {
  const paths = [...new Set([...from.keys(), ...to.keys()])].sort()
  return paths.flatMap((path) => {
    const [before, after] = [from.get(path), to.get(path)]
    if (before === after) return []
    const kind = before === undefined ? 'added' : after === undefined ? 'deleted' : 'modified'
    const mode = (content: string | undefined): string => (content === undefined ? '000000' : '100644')
    const objects = { oldObject: nameOf(before ?? ''), newObject: nameOf(after ?? '') }
    return [{ path, kind, oldMode: mode(before), newMode: mode(after), ...objects }]
  })
}

const merge = (trees: {
  base: Tree
  ours: Tree
  theirs: Tree
}): { files: Map<string, string>; conflicts: string[] } => {
  const files = new Map(trees.ours)
  const conflicts: string[] = []
  for (const { path } of changesOf(trees.base, trees.theirs)) {
    const [base, ours, theirs] = [trees.base.get(path), trees.ours.get(path), trees.theirs.get(path)]
    if (ours !== base && ours !== theirs) conflicts.push(path)
    else if (theirs === undefined) files.delete(path)
    else files.set(path, theirs)
  }
  return { files, conflicts }
}

/** As git leaves a file in which both sides changed the same lines. */
const markedText = (ours = '', theirs = ''): string => `<<<<<<< ours\n${ours}\n=======\n${theirs}\n>>>>>>> theirs\n`

export const simulatedTrailers = (message: string): Record<string, string> =>
  Object.fromEntries([...message.matchAll(/^(Unstuck-\w+): (.+)$/gm)].map((match) => [match[1], match[2]]))

const createObjects = () => {
  const trees = new Map<string, Tree>()
  const commits = new Map<string, Commit>()
  const addTree = (files: Tree): string => {
    const entries = sorted(files)
    const name = nameOf(['tree', entries])
    if (!trees.has(name)) trees.set(name, new Map(entries))
    return name
  }
  const addCommit = (commit: Commit): string => {
    const name = nameOf(['commit', commit.tree, commit.parents, commit.message])
    commits.set(name, commit)
    return name
  }
  const treeOf = (object: string): Tree => {
    const found = trees.get(commits.get(object)?.tree ?? object)
    if (found === undefined) throw new AppError('GIT_FAILED', `there is no object ${object}`)
    return found
  }
  const isAncestor = (commit: string, tip: string): boolean => {
    const seen = new Set<string>()
    const open = [tip]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (next === commit) return true
      if (seen.has(next)) continue
      seen.add(next)
      open.push(...(commits.get(next)?.parents ?? []))
    }
    return false
  }
  return { trees, commits, addTree, addCommit, treeOf, isAncestor }
}

type State = Omit<SimGit, 'calls'>

const userFiles = (state: State, workTree: string): Map<string, string> => {
  if (workTree === state.root) return state.userFiles
  const clone = state.clones.get(workTree)
  if (clone === undefined)
    throw new AppError('DIRECTORY_MISSING', `The workspace ${workTree} no longer exists or is not a folder`)
  return clone.files
}

const visibleToUser = (state: State, commit: string): void => {
  if (!state.userObjects.has(commit)) throw new AppError('GIT_FAILED', `bad object ${commit}`)
}

/** The shadow reads the user's objects besides its own. */
const visibleIn = (state: State, repository: Repository, commit: string): void => {
  if (repository.root === state.root || !state.shadowObjects.has(commit)) visibleToUser(state, commit)
}

/** The folder of the clone that a path lies in. */
export const cloneDirOf = ({ clones }: Pick<SimGit, 'clones'>, path: string): string | undefined =>
  [...clones.keys()].find((dir) => path === dir || path.startsWith(`${dir}/`))

const parentOf = ({ commits }: State, commit: string): string => {
  const parent = commits.get(commit)?.parents[0]
  if (parent === undefined) throw new Error(`${commit} does not have exactly one parent`)
  return parent
}

const landingCalls = (state: State) => {
  const readRef = (ref: string): string | null => state.refs.get(ref) ?? null
  /** History as far as the shadow has it. */
  const bring = (to: string): void => {
    const open = [to]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (state.userObjects.has(next)) continue
      if (!state.shadowObjects.has(next)) throw new AppError('GIT_FAILED', `bad object ${next}`)
      state.userObjects.add(next)
      open.push(...(state.commits.get(next)?.parents ?? []))
    }
  }
  const swap = (ref: string, from: string | null, to: string | null): boolean => {
    if (readRef(ref) !== from) return false
    if (to === null) state.refs.delete(ref)
    else {
      visibleToUser(state, to)
      state.refs.move(ref, to, 'unstuck')
    }
    return true
  }
  return {
    readRef: (_repository: Repository, ref: string) => readRef(ref),
    readRefs: (_repository: Repository, prefix?: string) => {
      const found = [...state.refs]
        .filter(([ref]) => ref.startsWith(prefix ?? 'refs/'))
        .sort(([a], [b]) => (a < b ? -1 : 1))
      return Object.fromEntries(prefix === undefined ? [...found, ['HEAD', 'ref: refs/heads/main']] : found)
    },
    readRefLog: (_repository: Repository, ref: string, limit: number) =>
      state.refs.moves.filter((move) => move.ref === ref).slice(0, limit),
    ensureGoalBranch: (_repository: Repository, request: { name: string; start: string }) => {
      const ref = `refs/heads/${request.name}`
      const created = swap(ref, null, request.start)
      return { ref, head: readRef(ref) ?? request.start, created }
    },
    bringObjects: (_repository: Repository, _shadow: Shadow, range: { from: string | null; to: string }) =>
      bring(range.to),
    publish: (
      _repository: Repository,
      _shadow: Shadow,
      request: { ref: string; from: string | null; to: string; present?: string },
    ) => {
      const now = readRef(request.ref)
      if (now === request.to) return 'done' as const
      if (now !== request.from) return 'moved' as const
      bring(request.to)
      return swap(request.ref, request.from, request.to) ? ('done' as const) : ('moved' as const)
    },
    restoreCheckout: (_repository: Repository, { changes }: RestoreRequest): RestoreResult => {
      const moved = changes.filter(({ name, before, after }) => ![before, after].includes(readRef(name)))
      if (moved.length > 0) return { ok: false, changed: moved.map(({ name }) => name) }
      for (const { name, before } of changes) swap(name, readRef(name), before)
      return { ok: true, left: [] }
    },
    restoreRef: (_repository: Repository, request: { ref: string; from: string | null; to: string | null }) => {
      if (readRef(request.ref) === request.to) return 'done' as const
      return swap(request.ref, request.from, request.to) ? ('done' as const) : ('moved' as const)
    },
    isCommitOf: (place: Repository | string, request: { commit: string; below: string | null; not: string | null }) => {
      const known =
        state.userObjects.has(request.commit) || (typeof place === 'string' && state.shadowObjects.has(request.commit))
      if (!known || request.below === null) return known
      if (request.not !== null && state.isAncestor(request.commit, request.not)) return false
      return state.isAncestor(request.commit, request.below)
    },
    handOver: (_repository: Repository, _shadow: Shadow, { runId, commit }: { runId: string; commit: string }) => {
      bring(commit)
      state.refs.set(`refs/unstuck/runs/${runId}`, commit)
    },
    dropHandOver: (_repository: Repository, runId: string) => void state.refs.delete(`refs/unstuck/runs/${runId}`),
    branchUses: () => ({}),
    isBelow: (_repository: Repository, commit: string, tip: string) => state.isAncestor(commit, tip),
    mergeBase: (_repository: Repository, one: string, other: string): string | null => {
      for (let at: string | null = one; at !== null; at = state.commits.get(at)?.parents[0] ?? null)
        if (state.isAncestor(at, other)) return at
      return null
    },
    renamesSince: () => [],
    commitsBetween: (_repository: Repository, range: { head: string; tip: string }, limit: number) => {
      const found: ReturnType<Git['commitsBetween']> extends Promise<infer T> ? T : never = []
      for (let at = range.tip; at !== range.head && found.length < limit;) {
        const [parent = null] = state.commits.get(at)?.parents ?? []
        const { message = '' } = state.commits.get(at) ?? {}
        found.push({
          commit: at,
          parent,
          subject: message.split('\n', 1)[0] ?? '',
          message,
          trailers: simulatedTrailers(message),
        })
        if (parent === null) break
        at = parent
      }
      return found
    },
    fastForward: (_repository: Repository, request: ForwardRequest): FastForward => {
      const ref = `refs/heads/${request.branch ?? ''}`
      const from = readRef(ref)
      if (from === null) return { ok: false, reason: 'branch-missing', detail: `There is no branch ${ref}`, paths: [] }
      if (state.isAncestor(request.to, from)) return { ok: true, from, to: from }
      const { to, base } = request
      if (!state.isAncestor(from, to) || (typeof base === 'string' && !state.isAncestor(base, from)))
        return { ok: false, reason: 'diverged', detail: 'diverged', paths: [] }
      const dirty = changesOf(state.treeOf(from), state.userFiles)
      if (dirty.length > 0)
        return { ok: false, reason: 'dirty', detail: 'uncommitted changes', paths: dirty.map(({ path }) => path) }
      state.userFiles = new Map(state.treeOf(request.to))
      return swap(ref, from, request.to)
        ? { ok: true, from, to: request.to }
        : { ok: false, reason: 'moved', detail: 'moved', paths: [] }
    },
  }
}

type Captured = { base: string; workTree: string }

const removeClone = (state: State, dir: string): void => {
  const clone = state.clones.get(dir)
  if (clone === undefined) return
  state.onDiscard(dir, clone)
  state.clones.delete(dir)
}

const captured = (state: State, request: Captured) => {
  const files = userFiles(state, request.workTree)
  const changes = changesOf(state.treeOf(request.base), files).map(
    ({ oldObject: _old, newObject: _new, ...change }) => change,
  )
  return { base: request.base, tree: state.addTree(new Map(files)), changes, nestedRepositories: [], leftOut: [] }
}

const workCalls = (state: State) => ({
  directoryOf: (): string | undefined => '1:1',
  openRepository: (path: string): Repository => ({
    root: path,
    commonDir: `${path}/.git`,
    id: 'repo-000000000000',
    branch: 'main',
    head: state.refs.get('refs/heads/main') ?? null,
  }),
  createWorkspace: (request: { repository: Repository; base: string; dir: string; branch: string }) => {
    const { repository, dir, base, branch } = request
    const present = state.clones.get(dir)
    if (present?.base === base && present.branch === branch) return { dir, base, branch, reused: true }
    if (present !== undefined) throw new AppError('ILLEGAL', `${dir} is the workspace of base ${present.base}`)
    visibleIn(state, repository, base)
    state.clones.set(dir, { base, branch, files: new Map(state.treeOf(base)), tips: [], objects: new Set() })
    return { dir, base, branch, reused: false }
  },
  removeWorkspace: (dir: string): void => removeClone(state, dir),
  returnWorkspace: (dir: string): void => removeClone(state, dir),
  layView: (_shadow: Shadow, { tree, dir }: Parameters<Git['layView']>[1]): void => {
    const files = new Map(state.treeOf(tree))
    state.clones.set(dir, { base: tree, branch: '', files, tips: [], objects: new Set() })
  },
  viewChanges: (_shadow: Shadow, { tree, dir }: Parameters<Git['viewChanges']>[1]): string[] => {
    const view = state.clones.get(dir)
    return view === undefined ? ['.'] : changesOf(state.treeOf(tree), view.files).map(({ path }) => path)
  },
  revertFiles: (_shadow: Shadow, { before, after, workTree }: Parameters<Git['revertFiles']>[1]): void => {
    const files = userFiles(state, workTree)
    for (const { path } of changesOf(state.treeOf(after), state.treeOf(before))) {
      const content = state.treeOf(before).get(path)
      if (content === undefined) files.delete(path)
      else files.set(path, content)
    }
  },
  inspectInstalled: () => ({ trees: [], asked: undefined }),
  mendDependencies: () => ({ damage: [], restored: 'none' as const }),
  copyFiles: () => ({}),
  removePackages: () => [],
  tendPool: () => undefined,
  tendTrees: () => undefined,
  bytesOf: () => 0,
  seedCaches: () => false,
  laySubmodules: () => ({ laid: [], missing: [] }),
  layEnvironments: () => [],
  hasOwnInstall: () => false,
  keepOwnInstall: () => false,
  packageFolders: () => [],
  findStrayWork: () => [],
  ignoredSince: () => [],
  emptyFoldersSince: () => [],
  untrackedSince: () => [],
  includedFiles: () => [],
  ignoredEntries: () => [],
  layOwnersFiles: () => ({}),
  prepareDependencies: () => ({ kind: 'none' as const, reason: 'no lockfile', ms: 0, notes: [] }),
  captureTree: (_shadow: Shadow, request: Captured) => captured(state, request),
  captureAside: (_shadow: Shadow, request: Captured) => captured(state, request),
  captureBase: (_shadow: Shadow, request: { workTree: string; name: string }) => {
    const tree = state.addTree(new Map(userFiles(state, request.workTree)))
    const commit = state.addCommit({ tree, parents: [], message: `base ${request.name}\n` })
    state.shadowObjects.add(commit)
    return commit
  },
  changesBetween: (_shadow: Shadow, from: string, to: string) => changesOf(state.treeOf(from), state.treeOf(to)),
  changeSize: (_shadow: Shadow, { base, tree }: { base: string; tree: string }) => {
    const paths = changesOf(state.treeOf(base), state.treeOf(tree)).map(({ path }) => path)
    return { files: paths.length, lines: paths.length, largest: paths.slice(0, 5).map((path) => ({ path, lines: 1 })) }
  },
  linkTarget: () => 'nowhere',
  readTexts: () => ({ texts: new Map<string, string>(), tooLarge: [], left: [] }),
  diffText: (_shadow: Shadow, { from, to }: { from: string; to: string }) =>
    changesOf(state.treeOf(from), state.treeOf(to))
      .map(({ path, kind }) => `${kind} ${path}\n`)
      .join(''),
  readPatch: (_shadow: Shadow, { from, to }: { from: string; to: string }) => ({
    files: changesOf(state.treeOf(from), state.treeOf(to)).map(({ path, kind }) => ({ path, kind })),
    ...{ text: '', leftOut: [] },
  }),
  ignoredAt: () => new Set<string>(),
  presentAt: (_shadow: Shadow, treeish: string, paths: readonly string[]) => {
    const files = [...state.treeOf(treeish).keys()]
    return new Set(paths.filter((path) => files.some((file) => file === path || file.startsWith(`${path}/`))))
  },
  treeOf: (_shadow: Shadow, object: string) => state.commits.get(object)?.tree ?? object,
  filesOfCommit: (_repository: Repository, commit: string, isWanted: (path: string) => boolean) => {
    const files = [...state.treeOf(commit)]
    return { names: files.map(([path]) => path), texts: new Map(files.filter(([path]) => isWanted(path))) }
  },
})

const shadowCalls = (state: State) => ({
  recentCommits: (): { title: string; isSignedOff: boolean }[] => [],
  commitsSince: (): { commit: string; message: string }[] => [],
  authorOf: () => ({ name: 'Ada', email: 'ada@example.invalid' }),
  buildTree: (_shadow: Shadow, request: { base: string; tree: string; paths: string[] }) => {
    const files = new Map(state.treeOf(request.base))
    const work = state.treeOf(request.tree)
    for (const path of request.paths) {
      const content = work.get(path)
      if (content === undefined) files.delete(path)
      else files.set(path, content)
    }
    return state.addTree(files)
  },
  buildCommit: (_shadow: Shadow, request: Parameters<Git['buildCommit']>[1]) => {
    const trailers = Object.entries(request.trailers).map(([key, value]) => `${key}: ${value}`)
    const message = [request.subject, request.body, trailers.join('\n')].join('\n\n')
    const commit = state.addCommit({ tree: request.tree, parents: [request.base], message })
    state.shadowObjects.add(commit)
    return commit
  },
  integrate: (_shadow: Shadow, { commit, onto }: { commit: string; onto: string }) => {
    const parent = parentOf(state, commit)
    if (parent === onto) return { ok: true as const, commit, rebased: false }
    const trees = { base: state.treeOf(parent), ours: state.treeOf(onto), theirs: state.treeOf(commit) }
    const { files, conflicts } = merge(trees)
    if (conflicts.length > 0) return { ok: false as const, conflicts }
    const rebased = state.addCommit({
      tree: state.addTree(files),
      parents: [onto],
      message: state.commits.get(commit)?.message ?? '',
    })
    state.shadowObjects.add(rebased)
    return { ok: true as const, commit: rebased, rebased: true }
  },
  mergedTree: (_shadow: Shadow, { commit, onto }: { commit: string; onto: string }) => {
    const parent = parentOf(state, commit)
    const trees = { base: state.treeOf(parent), ours: state.treeOf(onto), theirs: state.treeOf(commit) }
    const { files, conflicts } = merge(trees)
    const marked = conflicts.map((path) => [path, markedText(trees.ours.get(path), trees.theirs.get(path))] as const)
    return { tree: state.addTree(new Map([...files, ...marked])), conflicts }
  },
  revertedTree: (_shadow: Shadow, { commit, onto }: { commit: string; onto: string }) => {
    const parent = parentOf(state, commit)
    const trees = { base: state.treeOf(commit), ours: state.treeOf(onto), theirs: state.treeOf(parent) }
    const { files, conflicts } = merge(trees)
    return { tree: state.addTree(files), conflicts }
  },
  keepAgentCommits: (_shadow: Shadow, request: { workspace: string; runId: string; base: string }) => {
    const clone = state.clones.get(request.workspace)
    if (clone === undefined) return { kept: [], reason: '.git is not a folder of objects' }
    for (const object of clone.objects) state.shadowObjects.add(object)
    const kept = clone.tips.map((commit, index) => ({
      ref: `refs/unstuck/agent/${request.runId}/${index + 1}`,
      commit,
      name: 'HEAD',
    }))
    return { kept, reason: null }
  },
  snapshot: (_shadow: Shadow, request: Parameters<Git['snapshot']>[1]) => {
    const tree = state.addTree(new Map(userFiles(state, request.workTree)))
    const own = [...state.snapshots.values()].filter(({ runId }) => runId === request.runId)
    const last = Math.max(0, ...own.map(({ id }) => Number(id.slice(id.lastIndexOf('-') + 1))))
    const id = `${request.runId}-${last + 1}`
    const { runId, reason, at } = request
    const commit = state.addCommit({ tree, parents: [request.base], message: `snapshot ${id} ${at}\n` })
    state.shadowObjects.add(commit)
    state.snapshots.set(id, { id, runId, commit, tree, reason, at })
    return { id, commit, reason, at, leftOut: [] }
  },
  listSnapshots: (_shadow: Shadow, runId?: string) =>
    [...state.snapshots.values()]
      .filter((snapshot) => runId === undefined || snapshot.runId === runId)
      .map(({ id, commit, reason, at }) => ({ id, commit, reason, at, leftOut: [] })),
  layOver: (_shadow: Shadow, { snapshot: work, from, onto, into, exclude = [] }: Parameters<Git['layOver']>[1]) => {
    const moved = new Set(changesOf(state.treeOf(from), state.treeOf(onto)).map(({ path }) => path))
    const isWanted = (path: string): boolean => !exclude.some((other) => path === other || path.startsWith(`${other}/`))
    const changes = changesOf(state.treeOf(from), state.treeOf(work))
      .filter(({ path }) => isWanted(path))
      .map(({ newObject: _object, ...rest }) => rest)
    const written = changes.filter(({ path }) => !moved.has(path))
    const files = userFiles(state, into)
    for (const { path } of written) {
      const content = state.treeOf(work).get(path)
      if (content === undefined) files.delete(path)
      else files.set(path, content)
    }
    return { written, kept: changes.filter(({ path }) => moved.has(path)).map(({ path }) => path) }
  },
  filesOf: (_shadow: Shadow, treeish: string): string[] => [...state.treeOf(treeish).keys()],
  textAt: (_shadow: Shadow, treeish: string, path: string): string | undefined => state.treeOf(treeish).get(path),
  textsAt: (_shadow: Shadow, treeish: string, paths: readonly string[]): Map<string, string> => {
    const tree = state.treeOf(treeish)
    return new Map(paths.flatMap((path) => (tree.has(path) ? [[path, tree.get(path) ?? '']] : [])))
  },
  keepCommit: (_shadow: Shadow, request: Parameters<Git['keepCommit']>[1]) => {
    const { id: runId, commit: kept, reason, at } = request
    const tree = state.commits.get(kept)?.tree ?? ''
    const commit = state.addCommit({ tree, parents: [kept], message: `snapshot ${runId} ${at}\n` })
    const id = `${runId}-1`
    state.shadowObjects.add(kept).add(commit)
    state.snapshots.set(id, { id, runId, commit, tree, reason, at })
    return { id, commit, reason, at, leftOut: [] }
  },
  dropSnapshot: (_shadow: Shadow, id: string): void => {
    state.snapshots.delete(id)
  },
})

export const createGit = (root: string, files: Tree): SimGit => {
  const objects = createObjects()
  const state: State = {
    ...objects,
    root,
    refs: new SimulatedRefs(),
    userObjects: new Set(),
    shadowObjects: new Set(),
    userFiles: new Map(files),
    clones: new Map(),
    snapshots: new Map(),
    onDiscard: () => undefined,
  }
  const first = objects.addCommit({ tree: objects.addTree(files), parents: [], message: 'first\n' })
  state.userObjects.add(first)
  state.refs.move('refs/heads/main', first, 'commit (initial): first')
  const calls = { ...landingCalls(state), ...workCalls(state), ...shadowCalls(state) }
  return Object.assign(state, { calls })
}
