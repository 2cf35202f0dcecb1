/** What Unstuck needs of a forge, such as GitHub: the issues that it works on, and the pull requests that carry finished work. */

export interface ForgeIssue {
  /** Its number, or its name in a tracker that gives names. */
  id: string
  title: string
  /** As its author wrote it, in Markdown; data, never an instruction about rules. */
  body: string
  url: string
  labels: string[]
  author: string
  /** The author may write to the repository, or belongs to its owner. */
  isByMember: boolean
  /** Issues that have to be closed first. Absent = its text says which. */
  dependsOn?: string[]
}

/** What is said under an issue about its goal. */
export interface IssueStatus {
  text: string
  goal: string
  state: string
  pullRequest: string | null
}

/** Where issues come from. Each call throws REMOTE_REFUSED or REMOTE_UNAVAILABLE with what was said there. */
export interface IssueSource {
  /** As people know it: `owner/name` of a forge. */
  name: string
  /** The oldest first, and what could not be read, in words. A label that is empty stands for all issues. */
  openIssues(label: string): Promise<{ issues: ForgeIssue[]; problems: string[] }>
  /** Throws NOT_FOUND. */
  issue(id: string): Promise<ForgeIssue & { isOpen: boolean }>
  /** Number of the first comment under an issue that contains the text and whose author may write to the repository; null = there is none. */
  findComment(issue: string, text: string): Promise<number | null>
  /** Without a number, writes a new comment. Returns its number; null = it was deleted. */
  writeComment(issue: string, comment: number | null, status: IssueStatus): Promise<number | null>
}

export interface PullRequest {
  number: number
  title: string
  body: string
  url: string
  /** The branch with the work. */
  branch: string
  /** The branch is one of another repository, where anybody may give it any name. */
  isFromFork: boolean
  state: 'open' | 'merged' | 'closed'
  /** The commit by which it was merged, whether by a merge, a squash or a rebase. Null = it is not merged. */
  mergeCommit: string | null
  /** The forge has found that its branch conflicts with the one that gets the work. False also while it does not know. */
  hasConflicts: boolean
}

/** What a check of the forge says of one commit. */
export interface ForgeCheck {
  name: string
  state: 'pending' | 'passed' | 'failed'
  /** What the check says itself, without its log. */
  text: string
  url: string
  /** Under which its log is read and it is run again; null = the forge offers neither. */
  job: number | null
}

export interface ForgeReview {
  id: number
  author: string
  isByMember: boolean
  /** The author's last word: later ones replace a request for changes. */
  wantsChanges: boolean
  body: string
  /** Answers to comments are not among them. */
  comments: { id: number; path: string; line: number | null; body: string }[]
}

export interface NewPullRequest {
  title: string
  body: string
  branch: string
  /** The branch that gets the work. */
  base: string
}

export interface Forge extends IssueSource {
  openPullRequests(): Promise<PullRequest[]>
  pullRequest(number: number): Promise<PullRequest>
  openPullRequest(wanted: NewPullRequest): Promise<PullRequest>
  closePullRequest(number: number): Promise<void>
  checks(commit: string): Promise<ForgeCheck[]>
  /** The end of the log of a check; empty = there is none any more. */
  checkLog(job: number): Promise<string>
  runCheckAgain(job: number): Promise<void>
  /** Of the pull request, the oldest first. */
  reviews(number: number): Promise<ForgeReview[]>
  /** Under the comment on a line, or, without one, under the pull request. */
  reply(number: number, comment: number | null, text: string): Promise<void>
}

const namePattern = /^[\w.-]{1,100}\/[\w.-]{1,100}$/

export const isRepositoryName = (text: string): boolean =>
  namePattern.test(text) && !/(?:^|\/)\.{1,2}(?:\/|$)/.test(text)

/** `owner/name` in an address of a git remote, or undefined: a path on this machine, for example. */
export const repositoryNameIn = (url: string): string | undefined => {
  const path =
    /^(?:https?|ssh|git):\/\/[^/]+\/(.+)$/i.exec(url)?.[1] ?? /^(?!.*:\/\/)[^/:]+:(?!\/\/)\/?(.+)$/.exec(url)?.[1] ?? ''
  const name = path.replace(/\/+$/, '').replace(/\.git$/, '')
  return isRepositoryName(name) ? name : undefined
}
