/** What a check could not run without, and was installed in the clone of a run: by a package manager, or as copies of the owner's files. */
export interface Install {
  manager: string
  /** Folder of the commands, relative to the workspace; '' = the workspace itself. */
  folder: string
  commands: string[][]
  /** Digest of the manifests and lockfiles that it reads; absent = it reads none. */
  inputs?: string
  /** Ignored files and folders of the owner's checkout that are copied; absent = none. */
  files?: string[]
}
