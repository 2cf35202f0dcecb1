/** The time since `from`, as "8 s", "4 min 12 s" or "2 h 5 min": with seconds in the first hour, so that a reader sees progress. */
export const elapsedText = (from: string, now: Date): string => {
  const seconds = Math.max(0, Math.floor((now.getTime() - Date.parse(from)) / 1000))
  if (seconds < 60) return `${seconds} s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60 ? `${minutes} min ${seconds % 60} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}
