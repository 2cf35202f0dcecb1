/**
 * The keys of every page: `?`, `/`, Ctrl-K, and j, k, o, x for lists whose rows carry `data-row`. Where the focus is tells which row a
 * key means, so pages need no state of their own. Nothing typed into a field, and nothing in a dialog, is a command.
 */
import { useEffect, useEffectEvent } from 'react'
import { linkTo } from '../logic/route.ts'

const typedInto = 'input:not([type=checkbox]), textarea, select, [contenteditable]'

export interface PageKeys {
  help: () => void
  find: () => void
}

const rows = (): HTMLElement[] => [...document.querySelectorAll<HTMLElement>('main [data-row]')]

const rowHere = (): HTMLElement | undefined => document.activeElement?.closest<HTMLElement>('[data-row]') ?? undefined

const linkOf = (row: HTMLElement | undefined): HTMLElement | null =>
  row?.querySelector<HTMLElement>('[data-open]') ?? null

/** From outside the list, both keys lead to its first row. */
const moveBy = (step: 1 | -1): boolean => {
  const all = rows()
  const here = rowHere()
  const index = here === undefined ? 0 : Math.max(0, Math.min(all.length - 1, all.indexOf(here) + step))
  const link = linkOf(all[index])
  link?.focus({ preventScroll: true })
  all[index]?.scrollIntoView({ block: 'nearest' })
  return link !== null
}

const select = (): boolean => {
  const box = rowHere()?.querySelector<HTMLInputElement>('[data-select]')
  box?.click()
  return box !== null && box !== undefined
}

const openRow = (): boolean => {
  const link = linkOf(rowHere())
  link?.click()
  return link !== null
}

/** A page without a field of its own leads to the one of all work, which takes the focus when it is there. */
const search = (): boolean => {
  const field = document.querySelector<HTMLInputElement>('main [data-search]')
  if (field === null) {
    location.hash = linkTo.work()
    requestAnimationFrame(() =>
      setTimeout(() => document.querySelector<HTMLInputElement>('main [data-search]')?.focus()),
    )
  } else {
    field.focus()
    field.select()
  }
  return true
}

/** `pressed` is the letter after g. */
const places: Readonly<Record<string, string>> = {
  c: linkTo.recovery,
  n: linkTo.now,
  w: linkTo.work(),
  i: linkTo.inbox,
  r: linkTo.repositories,
}

const isTyping = (target: Element | null): boolean => target !== null && target.closest(typedInto) !== null

/** Escape leaves a field of a page for the page. */
const leaveField = (event: KeyboardEvent): void => {
  if (event.key === 'Escape' && document.activeElement?.matches('main [data-search]') === true)
    (document.activeElement as HTMLElement).blur()
}

/** A sequence such as g, w has to be this quick. */
const sequenceMs = 1_500

export const usePageKeys = ({ help, find }: PageKeys): void => {
  const press = useEffectEvent((event: KeyboardEvent, before: string | undefined): void => {
    if (event.defaultPrevented || document.querySelector('dialog[open]') !== null) return
    const isCommand = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k'
    if (isCommand) return (event.preventDefault(), find())
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (isTyping(document.activeElement)) return leaveField(event)
    const place = before === 'g' ? places[event.key] : undefined
    if (place !== undefined) location.hash = place
    else if (!carryOut(event.key)) return
    event.preventDefault()
  })
  const carryOut = (key: string): boolean => {
    switch (key) {
      case '?':
        help()
        return true
      case '/':
        return search()
      case 'j':
        return moveBy(1)
      case 'k':
        return moveBy(-1)
      case 'o':
        return openRow()
      case 'x':
        return select()
      default:
        return false
    }
  }
  useEffect(() => {
    let last = { key: '', at: 0 }
    const listen = (event: KeyboardEvent): void => {
      press(event, performance.now() - last.at < sequenceMs ? last.key : undefined)
      last = { key: event.key, at: performance.now() }
    }
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [])
}
