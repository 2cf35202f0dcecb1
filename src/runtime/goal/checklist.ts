/**
 * Reads a Markdown checklist: every unticked box is a task, a ticked box is done. Bullets below a box that start with
 * a known word (`paths:`, `denied:`, `run:`, `after:`, `harness:`, `role:`) are settings; all other indented text is the task's
 * instructions. Boxes in code fences are examples. This file only reads; `goal-input.ts` checks the result as a whole.
 */
import { AppError } from '../../errors.ts'
import { parsePathRule } from '../../recovery/policy/path-rule.ts'
import { harnessNamePattern } from '../../config/config-schema.ts'
import { nearestWord, valueText } from '../../validation.ts'
import { maxTitle } from '../core/task-fields.ts'
import type { TaskRole } from './task-file.ts'

export interface ChecklistItem {
  /** From 1. Ticked boxes count too, so that ticking a box does not renumber the others. */
  number: number
  line: number
  ticked: boolean
  title: string
  text: string[]
  paths: string[]
  denied: string[]
  run: string[]
  /** As written: numbers or titles. */
  after: { text: string; line: number }[]
  harness?: string
  role?: TaskRole
}

export interface Checklist {
  /** Text of the first heading. */
  heading?: string
  boxes: ChecklistItem[]
}

const words = ['paths', 'denied', 'run', 'after', 'harness', 'role'] as const
type Word = (typeof words)[number]

/** A review has a subject, which a checklist cannot name. */
const boxRoles = ['worker', 'tester', 'docser'] as const

/** `role` is so short that common words such as `note` would look like a misspelling of it. */
const guessable = words.filter((word) => word !== 'role')

/**
 * Other words for these settings. They are reported as mistakes, because read as instructions they would silently have
 * no effect.
 */
const otherNames: Readonly<Record<string, Word>> = {
  allowed: 'paths',
  allowedpaths: 'paths',
  files: 'paths',
  deny: 'denied',
  deniedpaths: 'denied',
  command: 'run',
  commands: 'run',
  verify: 'run',
  depends: 'after',
  requires: 'after',
  agent: 'harness',
}

const bullet = /^(\s*)(?:[-*+]|\d{1,9}[.)])[ \t]+(.*)$/
const box = /^\[([ xX])\](?:[ \t]+(.*))?$/
const fence = /^\s*(?:[-*+]\s+)?(`{3,}|~{3,})([^`]*)$/

const fail = (name: string, line: number, problem: string): AppError =>
  new AppError('INPUT_INVALID', `${name}:${line}: ${problem}`)

/** A tab counts as four columns, as in most editors. */
const indentOf = (text: string): number => (/^\s*/.exec(text)?.[0] ?? '').replaceAll('\t', '    ').length

const unquoted = (text: string): string => /^`([^`]+)`$/.exec(text.trim())?.[1] ?? text.trim()

/** A comma inside braces belongs to the glob. */
const listed = (text: string): string[] =>
  text
    .split(/,(?![^{]*\})/)
    .map(unquoted)
    .filter((item) => item !== '')

interface Location {
  name: string
  line: number
}

const setPaths = (target: string[], value: string, { name, line }: Location): void => {
  for (const item of listed(value)) {
    const parsed = parsePathRule(item)
    if (!parsed.ok)
      throw fail(name, line, `path ${valueText(item)}: ${parsed.reason}; allowed: a path or glob inside the repository`)
    target.push(item)
  }
}

const set = (task: ChecklistItem, word: Word, value: string, place: Location): void => {
  if (value.trim() === '')
    throw fail(place.name, place.line, `"${word}:" has no value; write one after the colon or remove the line`)
  switch (word) {
    case 'paths':
    case 'denied':
      setPaths(task[word], value, place)
      break
    case 'run':
      task.run.push(unquoted(value))
      break
    case 'after':
      task.after.push({ text: value.trim(), line: place.line })
      break
    case 'role': {
      const role = boxRoles.find((name) => name === unquoted(value))
      if (role === undefined)
        throw fail(place.name, place.line, `role is ${valueText(unquoted(value))}; allowed: ${boxRoles.join(', ')}`)
      task.role = role
      break
    }
    case 'harness': {
      const harness = unquoted(value)
      if (!harnessNamePattern.test(harness))
        throw fail(
          place.name,
          place.line,
          `harness is ${valueText(harness)}; allowed: the name of a harness (unstuck harness lists them)`,
        )
      task.harness = harness
    }
  }
}

/**
 * The setting that a bullet makes; undefined = plain text. A near miss of a known word is an error, because it would
 * be silently ignored.
 */
const settingIn = (content: string, { name, line }: Location): { word: Word; value: string } | undefined => {
  const match = /^([A-Za-z]+):(?:\s+(.*))?$/.exec(content)
  if (match === null) return undefined
  const written = match[1] ?? ''
  const lower = written.toLowerCase()
  const exact = words.find((word) => word === lower)
  if (exact !== undefined) return { word: exact, value: match[2] ?? '' }
  const other = Object.hasOwn(otherNames, lower) ? otherNames[lower] : undefined
  const guess = other ?? (lower.length >= 4 ? nearestWord(lower, guessable) : undefined)
  if (guess === undefined) return undefined
  throw fail(
    name,
    line,
    `unknown word "${written}:". Did you mean "${guess}:"? (If it is an instruction, write it without "${written}:".)`,
  )
}

const newBox = (number: number, mark: string, title: string, place: Location): ChecklistItem => {
  if (title === '') throw fail(place.name, place.line, 'the box has no title; write one after "[ ]" or remove the line')
  if (title.length > maxTitle)
    throw fail(
      place.name,
      place.line,
      `the title has ${title.length} characters; at most ${maxTitle} are allowed. Move the rest to an indented line below the box`,
    )
  if (/\p{Cc}/u.test(title)) throw fail(place.name, place.line, 'the title contains a control character; remove it')
  return { number, line: place.line, ticked: mark !== ' ', title, text: [], paths: [], denied: [], run: [], after: [] }
}

interface State {
  name: string
  list: Checklist
  current: ChecklistItem | undefined
  indent: number
  fence: { mark: string; line: number } | undefined
}

/** Opens or closes a code fence; true if the line belongs to one. */
const inFence = (state: State, text: string, line: number): boolean => {
  const mark = fence.exec(text)?.[1]
  if (state.fence === undefined) {
    if (mark !== undefined) state.fence = { mark, line }
    return mark !== undefined
  }
  const closes = mark !== undefined && mark.startsWith(state.fence.mark) && text.trim() === mark
  if (closes) state.fence = undefined
  return true
}

const readBullet = (state: State, text: string, line: number): boolean => {
  const match = bullet.exec(text)
  if (match === null) return false
  const place = { name: state.name, line }
  const content = (match[2] ?? '').trim()
  const indent = indentOf(text)
  const below = state.current !== undefined && indent > state.indent
  if (below) {
    const setting = settingIn(content, place)
    if (setting !== undefined && state.current !== undefined) set(state.current, setting.word, setting.value, place)
    return setting !== undefined
  }
  if (/^\[\](\s|$)/.test(content)) throw fail(state.name, line, '"[]" is not a box; write "[ ]" with a space')
  const found = box.exec(content)
  if (found === null) return false
  state.current = newBox(state.list.boxes.length + 1, found[1] ?? '', (found[2] ?? '').trim(), place)
  state.indent = indent
  state.list.boxes.push(state.current)
  return true
}

const readLine = (state: State, text: string, line: number): void => {
  const blank = text.trim() === ''
  const below = state.current !== undefined && (blank || indentOf(text) > state.indent)
  // A line at the margin ends the task, also in front of a fence; text there is for people.
  if (!below && state.fence === undefined && !bullet.test(text)) state.current = undefined
  if (inFence(state, text, line)) {
    state.current?.text.push(text)
    return
  }
  if (readBullet(state, text, line)) return
  if (below) state.current?.text.push(text)
  else state.current = undefined
  const heading = /^#{1,6}\s+(.+?)\s*#*$/.exec(text)?.[1]
  if (heading !== undefined && state.list.heading === undefined) state.list.heading = heading
}

/** The boxes and the first heading of a checklist. Throws `INPUT_INVALID` with file and line. */
export const readChecklist = (name: string, content: string): Checklist => {
  const state: State = { name, list: { boxes: [] }, current: undefined, indent: 0, fence: undefined }
  for (const [index, text] of content
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries())
    readLine(state, text, index + 1)
  if (state.fence !== undefined) {
    throw fail(
      name,
      state.fence.line,
      'the code fence that starts here is never closed, so everything below it would be ignored; close it',
    )
  }
  return state.list
}

/** The lines without their common indentation and without blank lines at both ends. */
export const dedented = (lines: readonly string[]): string => {
  const indents = lines.filter((text) => text.trim() !== '').map((text) => /^\s*/.exec(text)?.[0].length ?? 0)
  const shared = indents.length === 0 ? 0 : Math.min(...indents)
  return lines
    .map((text) => text.slice(shared).trimEnd())
    .join('\n')
    .replace(/^\n+/, '')
    .trimEnd()
}
