/** A change in the owner's checkout that the owner is asked about, and how later ones join it. Pure. */

/** The checkout of one host: engines of several hosts may share a store. */
export interface CheckoutPlace {
  host: string
  root: string
}

export interface CheckoutChange {
  part: 'ref' | 'config' | 'hook' | 'index' | 'file'
  /** A ref, a key of the configuration, a hook, or a path. */
  name: string
  /** What a ref named, or a digest; null = there was none, for `index` and `file`: as in the commit, or as in the index. */
  before: string | null
  after: string | null
  /** For a ref: it moved as a person at work in the checkout moves it. */
  alike?: boolean
}

const keyOf = ({ part, name }: CheckoutChange): string => `${part} ${name}`

const joinedTo = (earlier: CheckoutChange, { after, alike }: CheckoutChange): CheckoutChange => ({
  ...{ ...earlier, after },
  ...(alike === undefined ? {} : { alike: alike && earlier.alike !== false }),
})

/** A later change of the same thing keeps the state before the first one. What is again as it was before is no change. */
export const joinChanges = (open: readonly CheckoutChange[], found: readonly CheckoutChange[]): CheckoutChange[] => {
  const joined = new Map(open.map((change) => [keyOf(change), change]))
  for (const change of found) {
    const earlier = joined.get(keyOf(change))
    joined.set(keyOf(change), earlier === undefined ? change : joinedTo(earlier, change))
  }
  return [...joined.values()].filter(({ before, after }) => before !== after)
}

/** What an answer said about changes: a run that began before the answer sees them as well, and must not ask again. */
export interface DecidedChanges {
  answer: 'keep' | 'restore'
  changes: readonly CheckoutChange[]
}

export const isDecided = (found: CheckoutChange, decided: readonly DecidedChanges[]): boolean =>
  decided.some(({ answer, changes }) =>
    changes.some(
      (change) => keyOf(change) === keyOf(found) && found.after === (answer === 'keep' ? change.after : change.before),
    ),
  )
