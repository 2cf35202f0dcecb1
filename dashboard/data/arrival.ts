/** Brings a part of a page to the reader when the address names it; again when its content has come, since that moves it. */
import { useEffect, useRef, type RefObject } from 'react'

export const useArrival = (wanted: boolean, ready: boolean): RefObject<HTMLDivElement | null> => {
  const part = useRef<HTMLDivElement>(null)
  useEffect(() => {
    if (!wanted) return
    part.current?.scrollIntoView({ block: 'start' })
    part.current?.focus({ preventScroll: true })
  }, [wanted, ready])
  return part
}
