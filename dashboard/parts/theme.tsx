/** Light, dark, or as the system has it. The choice is this browser's alone. */
import { useState } from 'react'

const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const place = 'unstuck.theme'
const isTheme = (value: string | null): value is Theme => themes.some((theme) => theme === value)

const kept = (): Theme => {
  try {
    const value = localStorage.getItem(place)
    return isTheme(value) ? value : 'system'
  } catch {
    return 'system' // the browser keeps nothing for us: then it is as the system has it
  }
}

const keep = (theme: Theme): void => {
  try {
    localStorage.setItem(place, theme)
  } catch {
    // It holds for this page then.
  }
}

const show = (theme: Theme): void => {
  document.documentElement.dataset.theme = theme
}

/** Before the first painting, so that nothing flashes. */
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
