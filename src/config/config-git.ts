/** The section of the configuration for what Unstuck makes in the repository. */
import { checkedText, trueOrFalse } from './config-values.ts'
import { defaultBranchPrefix } from '../domain/goal.ts'

const allowed = 'allowed: a start of branch names as git takes them, at most 100 characters, such as "unstuck/"'

/** As `git check-ref-format` judges a branch with this prefix. */
const problemOf = (prefix: string): string | undefined => {
  const name = `${prefix}goal/g-1`
  const parts = name.split('/')
  const isRefused =
    /[\0-\x20\x7f~^:?*[\\]|\.\.|@\{/.test(name) ||
    parts.some((part) => part === '' || part.startsWith('.') || part.endsWith('.') || part.endsWith('.lock'))
  if (prefix === '' || prefix.length > 100 || isRefused) return `git takes no branch "${name}"`
  if (prefix.startsWith('-') || prefix.startsWith('refs/'))
    return `it begins with "${prefix.startsWith('-') ? '-' : 'refs/'}"`
  return undefined
}

export const gitSection = {
  branchPrefix: checkedText(allowed, problemOf).default(defaultBranchPrefix).meta({
    meaning:
      'What the names of branches begin with: a goal lands on `<prefix>goal/<id>`, and its agents work on `<prefix>run/<id>` of their clones. It holds for new goals; others keep their branches.',
  }),
  keepGoalBranches: trueOrFalse.default(false).meta({
    meaning:
      'Keeps the branch of a goal after its work has landed or the goal was cancelled. `false`: the branch goes then; of a cancelled goal with work, a snapshot stays for 14 days (`unstuck restore`).',
  }),
  signCommits: trueOrFalse.default(true).meta({
    meaning:
      'Signs the commits that land where your git signs commits (`commit.gpgsign`), with your key. `false`: they land without signatures, and nothing is asked about a key that cannot be used.',
  }),
}
