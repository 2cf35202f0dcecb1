/**
 * The keys of the inbox. They work wherever the focus is on the page, except where a person types or a dialog is open, so that
 * typing is never taken for a command. A digit only moves the focus to its choice: what answers is Enter, there.
 */
import { useEffect, useEffectEvent } from 'react'
import { keyOf, type InboxKey } from '../logic/inbox.ts'

const typedInto = 'input:not([type=checkbox]), textarea, select, [contenteditable]'

const isTyping = (target: Element | null): boolean =>
  document.querySelector('dialog[open]') !== null || (target !== null && target.closest(typedInto) !== null)

/** Escape leaves a text field for the question around it; all other keys belong to the field. */
const leaveField = (event: KeyboardEvent): void => {
  if (event.key !== 'Escape' || document.querySelector('dialog[open]') !== null) return
  document.activeElement?.closest('.inbox-item')?.querySelector<HTMLElement>('.inbox-row')?.focus()
}

/** The field of a choice if it takes a text, else its button. */
const focusChoice = (scope: Element | null, digit: number): void => {
  const form = scope?.querySelector(`[data-digit="${digit}"]`)
  const field = form?.querySelector<HTMLInputElement>('input, textarea')
  const target = field ?? form?.querySelector<HTMLElement>('button[type=submit]')
  target?.focus()
  field?.select()
  target?.scrollIntoView({ block: 'nearest' })
}

/** `choicesOf`: where the choices are that digits lead to now. */
export const useInboxKeys = (carryOut: (key: Exclude<InboxKey, { do: 'choose' }>) => void): void => {
  const press = useEffectEvent((event: KeyboardEvent): void => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
    if (isTyping(document.activeElement)) return leaveField(event)
    const key = keyOf(event.key)
    if (key === undefined) return
    event.preventDefault()
    if (key.do === 'choose') focusChoice(document.querySelector('[data-digits]'), key.choice)
    else carryOut(key)
  })
  useEffect(() => {
    const listen = (event: KeyboardEvent): void => press(event)
    window.addEventListener('keydown', listen)
    return () => window.removeEventListener('keydown', listen)
  }, [])
}
