/** The events about what only the owner decides: the files of the configuration, and what agents tried of it. */
import { movedRefs, payloadText, type EventTypes, type Payload } from './event-text.ts'

const listText = (value: unknown): string => (Array.isArray(value) ? value.map(String).join(', ') : '')

/** The programs at the other ends with the names that they gave themselves. */
const strangersText = ({ count, connections }: Record<string, unknown>): string => {
  const named = Array.isArray(connections) ? (connections as { name: string; program: string }[]) : []
  const texts = named.map(({ name, program }) => `${program || 'an unknown program'} (as "${name}")`)
  return [...texts, ...(Number(count) > named.length ? [`${Number(count) - named.length} more`] : [])].join(', ')
}

/** Of a file it is known only that git lists it since, lists it otherwise, or no longer lists it as changed. */
const howOfFile: Record<string, string> = { added: 'changed', changed: 'changed again', removed: 'as committed again' }

const changeText = ({ part, name, how }: Record<string, unknown>): string =>
  `${String(part)} ${String(name)}: ${part === 'file' ? (howOfFile[String(how)] ?? String(how)) : String(how)}`

const whoText = ({ by, why }: Record<string, unknown>): string =>
  `${by === 'agent' ? 'by an agent' : 'by whom is not known'}: ${String(why)}`

const changesText = ({ changes, more, notes }: Record<string, unknown>): string => {
  const listed = Array.isArray(changes) ? (changes as Record<string, unknown>[]) : []
  // The same reason is said once for all changes that it is about.
  const groups = Map.groupBy(listed, whoText)
  const texts = [...groups].map(([who, group]) => `${group.map(changeText).join(', ')} (${who})`)
  const left = Number(more) > 0 ? [`and ${Number(more)} more`] : []
  return [...texts, ...left, ...(Array.isArray(notes) ? notes.map(String) : [])].join('; ')
}

/** Events of older versions have the keys alone. */
const changedText = ({ keys, changes }: Payload): string =>
  Array.isArray(changes)
    ? (changes as { key: string; before: string; after: string }[])
        .map(({ key, before, after }) => `${key} (${before} -> ${after})`)
        .join(', ')
    : listText(keys)

const largestText = ({ largest }: Payload): string => {
  const found = largest as { run: string; megabytes: number } | undefined
  return found === undefined ? '' : `; the largest run uses ${found.megabytes} MB: unstuck explain ${found.run}`
}

export const ownerEvents: EventTypes = {
  'disk.full': {
    meaning: 'the disk of the state folders is full; a reserve of 32 MB was given up, on which the store lives',
    sentence: (p) =>
      `the disk of ${payloadText(p, 'folder')} is full, and Unstuck lives on a reserve of 32 MB: free some space, with "unstuck clean" for example${largestText(p)}`,
  },
  'ref.moved': {
    meaning:
      'refs of the user changed while an agent ran, by an agent or in a way in which no person works; says the evidence',
    sentence: (p) => `refs changed while the agent ran: ${movedRefs(p)}`,
  },
  'checkout.changed': {
    meaning:
      'the checkout of the user changed while an agent ran, in a way that may be the own work of the user; says by whom as far as it is known, and changes nothing',
    sentence: (p) => `your checkout changed while the agent ran: ${changesText(p)}`,
  },
  'checkout.restored': {
    meaning:
      'a person had changes in the checkout restored of which it was not known who made them; says what stayed as it was',
    sentence: (p) =>
      `your checkout was restored as you answered${listText(p.left) === '' ? '' : `; not restored: ${listText(p.left)}`}`,
  },
  'config.reloaded': {
    meaning:
      'a change of the configuration, the policy or the verify contract was taken over; with the old and the new values, without secrets',
    sentence: (p) =>
      `changed settings apply: ${changedText(p)}${listText(p.frozen) === '' ? '' : `; kept until no goal in progress uses them: ${listText(p.frozen)}`}`,
  },
  'config.rejected': {
    meaning: 'a file of the owner is not valid, or has just gone; the last valid settings stay in use',
    sentence: (p) => `${payloadText(p, 'problem')}; the last valid settings stay in use`,
  },
  'config.waiting': {
    meaning:
      'a change that would allow more appeared while a program of an agent could have made it; it waits for `unstuck config confirm`',
    sentence: (p) =>
      `a change that allows more waits for you (${listText(p.keys)}): see it and confirm it with "unstuck config confirm"`,
  },
  'config.confirmed': {
    meaning: 'a person confirmed a change that allows more',
    sentence: (p) => `a person confirmed the change of ${listText(p.keys)}`,
  },
  'person_only.refused': {
    meaning:
      'a program that an agent started asked for what only a person may do, and was refused; so was one that hung up before it could be told from an agent',
    sentence: (p) =>
      `${payloadText(p, 'program')}${p.hungUp === true ? '' : ', started by the agent,'} asked for ${payloadText(p, 'action')}, which only a person may do, and was refused`,
  },
  'leader.session_ended': {
    meaning: 'a database session that kept other engines from leading, and did not lead itself, was ended',
    sentence: (p) =>
      `the database session ${payloadText(p, 'session')} kept every engine from leading for ${payloadText(p, 'seconds')} s without leading itself; it was ended`,
  },
  'store.connection_ended': {
    meaning:
      'connections to the embedded database that are not of Unstuck, or that a program of a run opened, were ended; what they did before may be in the store',
    sentence: (p) => `connections to the database that Unstuck did not open were ended: ${strangersText(p)}`,
  },
  'state.file_damaged': {
    meaning:
      'files of the state folder were not what Unstuck had written; they were moved aside, and work goes on as if they had been missing',
    sentence: (p) => `damaged files of the state folder were moved aside: ${listText(p.files)}`,
  },
}
