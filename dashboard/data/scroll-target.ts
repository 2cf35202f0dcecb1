/** Scrolls to the part of a page that the address names, and once more when its content has arrived, because that moves it. */
import { useEffect, useRef, type RefObject } from 'react'

export const useScrollTarget = (wanted: boolean, ready: boolean): RefObject<HTMLDivElement | null> => {
  const part = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!wanted) return
    part.current?.scrollIntoView({ block: 'start' })
    part.current?.focus({ preventScroll: true })
  }, [wanted, ready])
  return part
}
