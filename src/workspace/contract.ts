/**
 * Types of the workspace layer: the user's repository is not ours. Agents work in clones of their own, every look at a
 * workspace goes through the shadow repository (own git directory, own index, own configuration), so nothing that an
 * agent wrote into `.git` is ever read as configuration.
 */

/** A folder that work starts from. `null` git fields: a plain folder, usable in direct mode only. */
export interface Repository {
  /** Realpath of the work tree's top (or of the plain folder). */
  root: string
  /** Realpath of the git common directory, or null. */
  commonDir: string | null
  /** `<basename>-<12 hex of sha256(realpath of common directory or folder)>` (SPEC §1). */
  id: string
  /** Short name of the checked-out branch; null when detached, unborn or a plain folder. */
  branch: string | null
  /** Commit of HEAD; null in an unborn repository or a plain folder. */
  head: string | null
  /** Of a repository by URL, without login: `root` is then a folder of ours that holds a bare mirror of it. */
  url?: string
}

export type ChangeKind = 'added' | 'modified' | 'deleted' | 'mode' | 'type'

/** One path that differs between base and work tree. Paths as git has them (bytes read as UTF-8), never quoted or folded into renames. */
export interface Change {
  path: string
  kind: ChangeKind
  /** Git file modes, e.g. `100644`, `100755`, `120000` (symlink), `160000` (nested repository); `000000` = absent. */
  oldMode: string
  newMode: string
}

export interface ChangeList {
  base: string
  /** Tree of the whole work tree as found (ignored files and nested repositories left out). */
  tree: string
  changes: Change[]
  /** Folders with a `.git` of their own that are not part of the tree; they are never followed. */
  nestedRepositories: string[]
  /** Files that could not be read or whose names git does not store; a tracked one stays as in the base. */
  leftOut: LeftOut[]
}

export interface LeftOut {
  path: string
  reason: string
  /** The attribute by which git would store other text than the file holds; then nothing of the work is committed. */
  encoding?: string
}

export interface Snapshot {
  /** Name by which `unstuck restore` finds it: `<run id>-<n>`. */
  id: string
  commit: string
  reason: string
  at: string
  /** Bytes of files left out because of the size cap, and their paths (at most 20 named). */
  leftOut: { path: string; bytes: number }[]
}

export interface CommitRequest {
  base: string
  tree: string
  subject: string
  body: string
  /** `Unstuck-Task`, `Unstuck-Run`, `Unstuck-Epoch`. */
  trailers: Record<string, string>
}

export type Integration = { ok: true; commit: string; rebased: boolean } | { ok: false; conflicts: string[] }

export type FastForward =
  | { ok: true; from: string; to: string }
  | {
      ok: false
      reason: 'dirty' | 'diverged' | 'untracked-in-the-way' | 'branch-missing' | 'moved' | 'refused' | 'git-failed'
      detail: string
      paths: string[]
    }
