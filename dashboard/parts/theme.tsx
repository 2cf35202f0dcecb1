/** Light, dark, or the theme of the system. The choice is stored in this browser only. */
import { useSyncExternalStore } from 'react'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const storageKey = 'unstuck.theme'
const changed = 'unstuck-theme'
const isTheme = (value: unknown): value is Theme => themes.some((theme) => theme === value)

const kept = (): Theme => {
  try {
    const value = localStorage.getItem(storageKey)
    return isTheme(value) ? value : 'system'
  } catch {
    return 'system' // the browser denies storage
  }
}

const keep = (theme: Theme): void => {
  try {
    localStorage.setItem(storageKey, theme)
  } catch {
    // The browser denies storage; the choice lasts until the page is closed.
  }
}

/** The page itself holds the choice, so that it has one also where the browser denies storage. */
const shown = (): Theme => {
  const { theme } = document.documentElement.dataset
  return isTheme(theme) ? theme : 'system'
}

const show = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme
}

/** Called before the first paint, so that the page does not flash in the other theme. */
export const showKeptTheme = (): void => show(kept())

export const chooseTheme = (theme: Theme): void => {
  keep(theme)
  show(theme)
  window.dispatchEvent(new Event(changed))
}

const watch = (update: () => void): (() => void) => {
  window.addEventListener(changed, update)
  return () => window.removeEventListener(changed, update)
}

export const ThemeChoice = () => (
  <label className="theme">
    <span>Theme</span>
    <select
      value={useSyncExternalStore(watch, shown)}
      onChange={({ target: { value } }) => isTheme(value) && chooseTheme(value)}
    >
      {themes.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  </label>
)
