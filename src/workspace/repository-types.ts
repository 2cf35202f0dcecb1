/**
 * Types of the workspace layer. Agents work in their own clones. Unstuck reads every workspace through the shadow repository
 * (with its own git directory, index and configuration), so nothing that an agent wrote into `.git` is used as configuration.
 */

/** A folder that work starts from. The git fields are null for a plain folder, which only the direct mode can use. */
export interface Repository {
  /** Realpath of the work tree's top (or of the plain folder). */
  root: string
  /** Realpath of the git common directory, or null. */
  commonDir: string | null
  /** `<basename>-<12 hex of sha256(realpath of common directory or folder)>`. */
  id: string
  /** Short name of the checked-out branch; null if HEAD is detached, the branch has no commit, or for a plain folder. */
  branch: string | null
  /** Commit of HEAD; null for a repository without commits or a plain folder. */
  head: string | null
  /** Only for a repository by URL, without login. `root` is then a folder in the state folder with a bare mirror. */
  url?: string
  /** Filter drivers of its own git configuration that its owner lets run. */
  filters?: readonly string[]
}

export type ChangeKind = 'added' | 'modified' | 'deleted' | 'mode' | 'type'

/** One path that differs between base and work tree. `path`: git's bytes read as UTF-8, neither quoted nor merged into renames. */
export interface FileChange {
  path: string
  kind: ChangeKind
  /** Git file modes, e.g. `100644`, `100755`, `120000` (symlink), `160000` (nested repository); `000000` = absent. */
  oldMode: string
  newMode: string
}

export interface ChangeList {
  base: string
  /** Tree of the whole work tree, without ignored files and nested repositories. */
  tree: string
  changes: FileChange[]
  /** Folders with their own `.git`. They are never entered and not part of the tree. */
  nestedRepositories: string[]
  /** Files that could not be read, or whose names git does not store. Tracked ones stay as in the base. */
  leftOut: LeftOut[]
}

export interface LeftOut {
  path: string
  reason: string
  /** The attribute that would make git store other text than the file contains. In that case nothing of the work is committed. */
  encoding?: string
  /** The content filter that would have to store it and does not run here. */
  lacksFilter?: string
}

export interface Snapshot {
  /** Name for `unstuck restore`: `<run id>-<n>`. */
  id: string
  commit: string
  reason: string
  at: string
  /** Files left out because of the size limit, with their bytes (at most 20). */
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

/** `conflicts`: paths in which both sides changed the same lines. */
export interface MergedTree {
  tree: string
  conflicts: string[]
}

export type Integration = { ok: true; commit: string; rebased: boolean } | { ok: false; conflicts: string[] }

export type FastForward =
  | { ok: true; from: string; to: string }
  | {
      ok: false
      reason:
        | 'dirty'
        | 'busy'
        | 'diverged'
        | 'untracked-in-the-way'
        | 'branch-missing'
        | 'moved'
        | 'refused'
        | 'git-failed'
      detail: string
      paths: string[]
    }
