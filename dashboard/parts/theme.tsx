/** Light, dark, or the theme of the system. The choice is stored in this browser only. */
import { useState } from 'react'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const storageKey = 'unstuck.theme'
const isTheme = (value: string | null): value is Theme => themes.some((theme) => theme === value)

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

const show = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme
}

/** Called before the first paint, so that the page does not flash in the other theme. */
export const showKeptTheme = (): void => show(kept())

export const ThemeChoice = () => {
  const [theme, setTheme] = useState(kept)
  return (
    <label className="theme">
      <span>Theme</span>
      <select
        value={theme}
        onChange={({ target: { value } }) => {
          if (!isTheme(value)) return
          setTheme(value)
          keep(value)
          show(value)
        }}
      >
        {themes.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  )
}
