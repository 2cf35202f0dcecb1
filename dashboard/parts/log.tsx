/** The log of a run: coloured text, at its end until the reader scrolls away; searched, linked line by line, and saved as a file. */
import { useEffect, useEffectEvent, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from 'react'
import type { Run } from '../../src/api/contract.ts'
import { saveFile } from '../data/save-file.ts'
import { useScrollTarget } from '../data/scroll-target.ts'
import { useRunLog, type FollowedLog } from '../data/run-log.ts'
import { timeOfDay } from '../logic/clock.ts'
import { isAddress, lineWith, logText, matchesFrom, type GrowingLog } from '../logic/log.ts'
import { rowCount } from '../logic/log-rows.ts'
import { plural } from '../logic/text.ts'
import { Section } from './basics.tsx'
import { LogWindow, middleOf, useGrid, useRows } from './log-lines.tsx'

/** At most this far from the end counts as at the end. */
const nearPx = 40

interface Search {
  text: string
  write: (text: string) => void
  hits: readonly number[]
  /** Which of the hits is shown; -1 = none yet. */
  at: number
  move: (by: number) => void
}

/** What was searched already is kept, so that a growing log is not searched again from its beginning. */
const useHits = (log: GrowingLog, text: string): readonly number[] => {
  const kept = useRef({ log, text: '', upTo: 0, hits: [] as number[] })
  if (kept.current.log !== log || kept.current.text !== text) kept.current = { log, text, upTo: 0, hits: [] }
  const { hits, upTo } = kept.current
  for (const hit of matchesFrom(log, text, upTo)) hits.push(hit)
  kept.current.upTo = log.lines.length
  return hits
}

/** The line that the address of the page names, as soon as the log has it. */
const useLinked = (log: GrowingLog, find: string | undefined): number | undefined => {
  const kept = useRef({ log, find, upTo: 0, line: undefined as number | undefined })
  if (kept.current.log !== log || kept.current.find !== find) kept.current = { log, find, upTo: 0, line: undefined }
  // The last line may still be repeated.
  kept.current.line ??= lineWith(log, find, kept.current.upTo)
  kept.current.upTo = Math.max(0, log.lines.length - 1)
  return kept.current.line
}

const SearchField = ({ text, write, hits, at, move }: Search) => {
  const press = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    move(event.shiftKey ? -1 : 1)
  }
  return (
    <div className="log-search" role="search">
      <input
        type="search"
        aria-label="Search the log"
        placeholder="Search the log"
        value={text}
        onChange={({ target }) => write(target.value)}
        onKeyDown={press}
      />
      <span role="status" className="quiet">
        {text !== '' && (hits.length === 0 ? 'no line' : `${Math.max(0, at) + 1} of ${hits.length}`)}
      </span>
      <button type="button" aria-label="Previous line found" disabled={hits.length === 0} onClick={() => move(-1)}>
        ↑
      </button>
      <button type="button" aria-label="Next line found" disabled={hits.length === 0} onClick={() => move(1)}>
        ↓
      </button>
    </div>
  )
}

/** The room of the last line and of the edges. */
const endPx = 60

interface BoxProps extends Pick<FollowedLog, 'log' | 'ended'> {
  run: Run
  following: boolean
  follow: (on: boolean) => void
  /** The line to bring into view. */
  goal: number | undefined
}

const startTexts = ({ launches }: Run) => {
  return (number: number): string => {
    const startedAt = launches.find((launch) => launch.number === number)?.startedAt ?? null
    return startedAt === null ? '' : timeOfDay(startedAt)
  }
}

/** What folds hide opens when it is searched for. */
const opening = (log: GrowingLog, unfolded: ReadonlySet<number>, line: number): ReadonlySet<number> => {
  const needed = [line, log.lines[line]?.group ?? line]
  return needed.every((each) => unfolded.has(each)) ? unfolded : new Set([...unfolded, ...needed])
}

const useBox = ({ log, following, follow, goal }: Omit<BoxProps, 'run' | 'ended'>) => {
  const box = useRef<HTMLDivElement>(null)
  const probe = useRef<HTMLSpanElement>(null)
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set())
  const [scrollTop, setScrollTop] = useState(0)
  const grid = useGrid(box, probe)
  const rows = useRows(log, grid?.columns ?? 100, unfolded)
  const total = rowCount(rows)
  useLayoutEffect(() => {
    if (following && box.current !== null) box.current.scrollTop = box.current.scrollHeight
  }, [total, following, grid])
  const wanted = useRef<number>(undefined)
  const begin = useEffectEvent((line: number) => {
    wanted.current = line
    follow(false)
    setUnfolded((old) => opening(log, old, line))
  })
  useLayoutEffect(() => {
    if (goal !== undefined) begin(goal)
  }, [goal])
  useLayoutEffect(() => {
    const line = wanted.current
    if (line === undefined || grid === undefined || box.current === null) return
    if (opening(log, unfolded, line) !== unfolded) return
    wanted.current = undefined
    box.current.scrollTop = middleOf(rows, grid, line)
  })
  const onScroll = (): void => {
    const { scrollHeight = 0, scrollTop: top = 0, clientHeight = 0 } = box.current ?? {}
    setScrollTop(top)
    follow(scrollHeight - top - clientHeight < nearPx)
  }
  const unfold = (line: number): void => setUnfolded((old) => opening(log, old, line))
  return { box, probe, grid, rows, scrollTop, onScroll, unfold }
}

const Box = ({ run, ended, goal, ...rest }: BoxProps) => {
  const { log } = rest
  const { box, probe, grid, rows, scrollTop, onScroll, unfold } = useBox({ goal, ...rest })
  const startOf = useMemo(() => startTexts(run), [run])
  const end = log.lines.length === 0 ? 'Nothing was printed.' : 'End of the log.'
  return (
    // Not a live region: a screen reader would read every new line aloud without end.
    <div
      className="log"
      style={{ height: `min(${Math.ceil(rowCount(rows) * (grid?.rowHeight ?? 20)) + endPx}px, 40rem, 70vh)` }}
      role="log"
      aria-live="off"
      aria-label="Log of the run"
      tabIndex={0}
      ref={box}
      onScroll={onScroll}
    >
      <span ref={probe} className="log-probe" aria-hidden="true">
        {'0'.repeat(100)}
      </span>
      {grid !== undefined && (
        <LogWindow {...{ run: run.id, log, rows, grid, scrollTop, found: goal, startOf, unfold }} />
      )}
      <p className="quiet log-end">{ended ? end : 'Waiting for output …'}</p>
    </div>
  )
}

/** How many lines came since the reader left the end. */
const useNewLines = (log: GrowingLog, following: boolean): number => {
  const [seen, setSeen] = useState(0)
  const count = log.lines.length
  useEffect(() => {
    if (following) setSeen(count)
  }, [following, count])
  return following ? 0 : Math.max(0, count - seen)
}

const useSearch = (log: GrowingLog, find: string | undefined) => {
  const [text, setText] = useState('')
  const [at, setAt] = useState(-1)
  const hits = useHits(log, text)
  const linked = useLinked(log, find)
  const write = (next: string): void => {
    setText(next)
    setAt(next === '' ? -1 : 0)
  }
  const move = (by: number): void => {
    if (hits.length > 0) setAt((Math.max(0, at) + by + hits.length) % hits.length)
  }
  // The first hit of a text, or the line that the address names.
  const goal = text === '' ? linked : hits[Math.max(0, at)]
  return { search: { text, write, hits, at, move }, goal, linked }
}

interface LogSectionProps {
  run: Run
  arrive: boolean
  /** A text or the address of a line to bring into view. */
  find: string | undefined
}

export const LogSection = ({ run, arrive, find }: LogSectionProps) => {
  const { log, ended, problem } = useRunLog(run.id)
  const [following, follow] = useState(true)
  const { search, goal, linked } = useSearch(log, find)
  const fresh = useNewLines(log, following)
  const top = useScrollTarget(arrive, true)
  const lost = find !== undefined && isAddress(find) && ended && linked === undefined
  return (
    <div ref={top} tabIndex={-1} className="arrival">
      <Section
        title="Log"
        extra={
          <div className="log-tools">
            <SearchField {...search} />
            <label className="switch">
              <input type="checkbox" checked={following} onChange={({ target }) => follow(target.checked)} /> Follow
            </label>
            <button
              type="button"
              disabled={log.lines.length === 0}
              onClick={() => saveFile(`unstuck-${run.id}.log`, 'text/plain', [logText(log), '\n'])}
            >
              Download
            </button>
          </div>
        }
      >
        {problem !== undefined && (
          <p role="status" className="refused">
            The log could not be read: {problem}. Trying again.
          </p>
        )}
        {lost && <p className="refused">The log has no line {find}.</p>}
        <div className="log-frame">
          <Box {...{ run, log, ended, following, follow, goal }} />
          {fresh > 0 && (
            <button type="button" className="main new-lines" onClick={() => follow(true)}>
              {plural(fresh, 'new line')} ↓
            </button>
          )}
        </div>
      </Section>
    </div>
  )
}
