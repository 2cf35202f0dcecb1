/** The notes that a person writes on the lines of a change. Kept in this browser tab, so that a look at another page loses none. */
import { useState } from 'react'
import type { Notes } from '../logic/diff-notes.ts'

const keyOf = (run: string): string => `unstuck.notes.${run}`

const kept = (run: string): Notes => {
  try {
    const value: unknown = JSON.parse(sessionStorage.getItem(keyOf(run)) ?? '{}')
    return typeof value === 'object' && value !== null ? (value as Notes) : {}
  } catch {
    return {} // the browser denies storage
  }
}

const keep = (run: string, notes: Notes): void => {
  try {
    sessionStorage.setItem(keyOf(run), JSON.stringify(notes))
  } catch {
    // The browser denies storage; the notes last until the page is left.
  }
}

export interface KeptNotes {
  notes: Notes
  /** Undefined removes the note. */
  write: (key: string, note: string | undefined) => void
  clear: () => void
}

export const useNotes = (run: string): KeptNotes => {
  const [notes, setNotes] = useState(() => kept(run))
  const change = (next: Notes): void => {
    keep(run, next)
    setNotes(next)
  }
  const write = (key: string, note: string | undefined): void => {
    const { [key]: _, ...others } = notes
    change(note === undefined ? others : { ...others, [key]: note })
  }
  return { notes, write, clear: () => change({}) }
}
