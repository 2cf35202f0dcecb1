/** The log of a run: plain text, bounded, and scrolled to its end until the reader scrolls away. */
import { memo, useEffect, useEffectEvent, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { useScrollTarget } from '../data/scroll-target.ts'
import { useRunLog } from '../data/run-log.ts'
import { lineWith, type LogBuffer, type BufferedLine } from '../logic/log.ts'
import { foldText, words } from '../logic/text.ts'
import { Section } from './basics.tsx'

const kindOf = ({ kind, stream }: BufferedLine): string => {
  if (kind === 'launch') return ''
  return kind === 'text' && stream === 'stderr' ? 'stderr' : words(kind)
}

const Line = memo(({ line, found }: { line: BufferedLine; found: boolean }) => {
  const [open, setOpen] = useState(false)
  const { head, hidden } = foldText(line.text)
  return (
    <div className={`line ${line.kind} ${line.stream}${found ? ' found' : ''}`}>
      <span className="kind">{kindOf(line)}</span>
      <span className="said">
        <bdi>{open ? line.text : head}</bdi>
        {hidden > 0 && (
          <button type="button" className="link" aria-expanded={open} onClick={() => setOpen(!open)}>
            {open ? 'show less' : `${hidden} more lines`}
          </button>
        )}
        {line.times > 1 && <span className="times"> ×{line.times}</span>}
      </span>
    </div>
  )
})
Line.displayName = 'Line'

/** At most this far from the end counts as at the end. */
const nearPx = 40

/** Keeps the box scrolled to its end until the reader scrolls away. */
const useFollowing = (log: LogBuffer) => {
  const [following, setFollowing] = useState(true)
  const box = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => {
    if (following && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [log, following])
  const onScroll = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {}
    setFollowing(scrollHeight - scrollTop - clientHeight < nearPx)
  }
  return { following, setFollowing, box, onScroll }
}

interface LinesProps {
  id: string
  log: LogBuffer
  ended: boolean
  /** The key of the line that was looked for. */
  found: number | undefined
}

const Lines = ({ id, log, ended, found }: LinesProps) => (
  <>
    {log.dropped > 0 && (
      <p className="quiet">
        {log.dropped} earlier lines are not shown; <code>unstuck logs {id}</code> has them.
      </p>
    )}
    {log.lines.map((line) => (
      <Line key={line.key} line={line} found={line.key === found} />
    ))}
    <p className="quiet">
      {ended ? (log.lines.length === 0 ? 'Nothing was printed.' : 'End of the log.') : 'Waiting for output …'}
    </p>
  </>
)

/** Brings a line into view once, as soon as the log has it. */
const useFoundLine = (found: number | undefined, leave: () => void, box: RefObject<HTMLDivElement | null>): void => {
  const stop = useEffectEvent(leave)
  useEffect(() => {
    if (found === undefined) return
    stop()
    box.current?.querySelector('.found')?.scrollIntoView({ block: 'center' })
  }, [found, box])
}

interface LogSectionProps {
  id: string
  arrive: boolean
  /** A text to bring into view. */
  find: string | undefined
}

export const LogSection = ({ id, arrive, find }: LogSectionProps) => {
  const { log, ended, problem } = useRunLog(id)
  const { following, setFollowing, box, onScroll } = useFollowing(log)
  const found = lineWith(log, find)
  useFoundLine(found, () => setFollowing(false), box)
  const top = useScrollTarget(arrive, true)
  const follow = (
    <label className="switch">
      <input type="checkbox" checked={following} onChange={(event) => setFollowing(event.target.checked)} /> Follow
    </label>
  )
  return (
    <div ref={top} tabIndex={-1} className="arrival">
      <Section title="Log" extra={follow}>
        {problem !== undefined && (
          <p role="status" className="refused">
            The log could not be read: {problem}. Trying again.
          </p>
        )}
        {/* Not a live region: a screen reader would read every new line aloud without end. */}
        <div
          className="log"
          role="log"
          aria-live="off"
          aria-label="Log of the run"
          tabIndex={0}
          ref={box}
          onScroll={onScroll}
        >
          <Lines id={id} log={log} ended={ended} found={found} />
        </div>
      </Section>
    </div>
  )
}
