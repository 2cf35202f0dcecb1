/** The lines of a log that are on the screen, whatever its length. */
import { memo, useLayoutEffect, useRef, useState, type RefObject } from 'react'
import { ansiSpans, sliceSpans, type Span } from '../logic/ansi.ts'
import { addressOf, type ShownLine, type GrowingLog } from '../logic/log.ts'
import { layOut, rowCount, rowsBetween, scrolled, scrollTopOf, type Row, type Rows } from '../logic/log-rows.ts'
import { linkTo } from '../logic/route.ts'
import { plural, words } from '../logic/text.ts'

const Spans = ({ spans }: { spans: readonly Span[] }) => (
  <bdi>
    {spans.map(({ text, look }, index) => (
      // oxlint-disable-next-line react/no-array-index-key -- spans have only their order
      <span key={index} className={look}>
        {text}
      </span>
    ))}
  </bdi>
)

/** A text with the colours that its program gave it. */
export const AnsiText = ({ raw }: { raw: string }) => <Spans spans={ansiSpans(raw)} />

const kindOf = ({ kind, stream }: ShownLine): string => {
  if (kind === 'launch') return ''
  return kind === 'text' ? (stream === 'stderr' ? 'stderr' : '') : words(kind)
}

const Said = ({ line, from, to }: { line: ShownLine; from: number; to: number }) =>
  line.raw === undefined ? (
    <bdi>{line.text.slice(from, to)}</bdi>
  ) : (
    <Spans spans={sliceSpans(ansiSpans(line.raw), from, to)} />
  )

interface LineProps extends Pick<Row, 'from' | 'to' | 'head' | 'hidden' | 'group'> {
  run: string
  line: ShownLine
  times: number
  /** When the launch of a heading began. */
  startedAt: string
  top: number
  found: boolean
  unfold: (() => void) | undefined
}

const textOf = ({ hidden, group }: Pick<LineProps, 'hidden' | 'group'>): string =>
  group ? `${plural(hidden, 'tool call')}, show them` : plural(hidden, 'more line')

const Line = memo((props: LineProps) => {
  const { run, line, times, startedAt, top, from, to, head, found, unfold } = props
  const { kind, stream } = line
  return (
    <div className={`line ${kind} ${stream}${found ? ' found' : ''}`} style={{ transform: `translateY(${top}px)` }}>
      {head && line.number > 0 ? (
        <a className="line-number" href={linkTo.logLine(run, addressOf(line))} tabIndex={-1} aria-hidden="true">
          {line.number}
        </a>
      ) : (
        <span className="line-number" />
      )}
      <span className="kind">{head ? kindOf(line) : ''}</span>
      <span className="said">
        <Said line={line} from={from} to={to} />
        {startedAt !== '' && <span className="quiet"> started {startedAt}</span>}
        {head && times > 1 && <span className="times"> ×{times}</span>}
        {unfold !== undefined && (
          <button type="button" className="link" onClick={unfold}>
            {textOf(props)}
          </button>
        )}
      </span>
    </div>
  )
})
Line.displayName = 'Line'

/** The size of one character, and how many of them a row has beside its number and kind. */
export interface Grid {
  columns: number
  rowHeight: number
  height: number
}

const gutterCharacters = 24
const narrowGutter = 10

const measure = (box: HTMLElement, probe: HTMLElement): Grid => {
  const { width, height } = probe.getBoundingClientRect()
  const character = width / 100
  const gutter = box.clientWidth < 500 ? narrowGutter : gutterCharacters
  const columns = Math.max(20, Math.floor(box.clientWidth / character) - gutter)
  return { columns, rowHeight: Math.ceil(height), height: box.clientHeight }
}

/** Measures again when the box changes its size. */
export const useGrid = (
  box: RefObject<HTMLDivElement | null>,
  probe: RefObject<HTMLSpanElement | null>,
): Grid | undefined => {
  const [grid, setGrid] = useState<Grid>()
  useLayoutEffect(() => {
    const [outer, inner] = [box.current, probe.current]
    if (outer === null || inner === null) return
    const look = (): void => setGrid(measure(outer, inner))
    const observer = new ResizeObserver(look)
    observer.observe(outer)
    look()
    return () => observer.disconnect()
  }, [box, probe])
  return grid
}

/** The rows of the log; they grow with it, and are made anew when a row gets another length or a person unfolds something. */
export const useRows = (log: GrowingLog, columns: number, unfolded: ReadonlySet<number>): Rows => {
  const kept = useRef<{ log: GrowingLog; rows: Rows }>(undefined)
  const old = kept.current
  const isSame = old?.log === log && old.rows.columns === columns && old.rows.unfolded === unfolded
  const rows = layOut(log.lines, isSame ? old.rows : { columns, unfolded, first: [] })
  kept.current = { log, rows }
  return rows
}

/** Rows above and below the screen, so that scrolling shows no gap. */
const spare = 15

interface WindowProps {
  run: string
  log: GrowingLog
  rows: Rows
  grid: Grid
  scrollTop: number
  found: number | undefined
  startOf: (launch: number) => string
  unfold: (line: number) => void
}

export const LogWindow = ({ run, log, rows, grid, scrollTop, found, startOf, unfold }: WindowProps) => {
  const { rowHeight, height } = grid
  const { full, top } = scrolled({ scrollTop, height, rowHeight, rows: rowCount(rows) })
  const first = Math.floor(top)
  const shown = rowsBetween(log.lines, rows, first - spare, first + Math.ceil(height / rowHeight) + spare)
  return (
    <div className="log-rows" style={{ height: full }}>
      {shown.map(({ at, line: index, ...row }) => {
        const line = log.lines[index] as ShownLine
        return (
          <Line
            key={at}
            {...row}
            run={run}
            line={line}
            times={line.times}
            startedAt={line.kind === 'launch' ? startOf(line.launch) : ''}
            top={Math.round(scrollTop + (at - top) * rowHeight)}
            found={index === found}
            unfold={row.hidden > 0 ? () => unfold(index) : undefined}
          />
        )
      })}
    </div>
  )
}

/** Where the scroll bar stands when this line is in the middle of the screen. */
export const middleOf = (rows: Rows, grid: Grid, line: number): number =>
  scrollTopOf(Math.max(0, (rows.first[line] ?? 0) - grid.height / grid.rowHeight / 2), {
    ...grid,
    rows: rowCount(rows),
  })
