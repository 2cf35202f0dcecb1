/**
 * The keys of a question. They work while the focus is in a question, or on nothing while only one question is open, so that
 * typing elsewhere is never taken for a shortcut.
 */
import { useEffect } from 'react'

const inQuestion = '[data-run]'
const typedInto = 'input, textarea, select, dialog, [contenteditable]'

const keys = new Set(['d', 'l'])

const questionOf = (target: Element | null): HTMLElement | undefined => {
  const own = target?.closest<HTMLElement>(inQuestion)
  if (own !== null && own !== undefined) return own
  if (target !== null && target !== document.body && target.id !== 'main') return undefined
  const open = document.querySelectorAll<HTMLElement>(inQuestion)
  return open.length === 1 ? open[0] : undefined
}

export const useShortcuts = (): void => {
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      const target = document.activeElement
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (target?.closest(typedInto) !== null && target !== null) return
      if (!keys.has(event.key)) return
      const link = questionOf(target)?.querySelector<HTMLAnchorElement>(`a[aria-keyshortcuts="${event.key}"]`)
      if (link === null || link === undefined) return
      event.preventDefault()
      location.hash = link.hash
    }
    window.addEventListener('keydown', press)
    return () => window.removeEventListener('keydown', press)
  }, [])
}
