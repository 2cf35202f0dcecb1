/** Packages that a package manager installed in the clone of a run, because a check could not run without them. */
export interface Install {
  manager: string
  /** Folder of the commands, relative to the workspace; '' = the workspace itself. */
  folder: string
  commands: string[][]
  /** Ignored files and folders of the owner's checkout that are copied; absent = none. */
  files?: string[]
}
