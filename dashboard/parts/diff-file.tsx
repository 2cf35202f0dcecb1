/** One file of a diff: its lines in one column or side by side, each with a button that takes a note. */
import { useState, type KeyboardEvent } from 'react'
import { useTokens, type LineColours } from '../data/highlight.ts'
import type { KeptNotes } from '../data/notes.ts'
import { splitRows, type DiffFile, type DiffLine, type SplitRow } from '../logic/diff.ts'
import { noteKey } from '../logic/diff-notes.ts'
import { plural } from '../logic/text.ts'

const signs: Record<DiffLine['kind'], string> = { added: '+', removed: '−', same: ' ', hunk: '', note: '' }
const tags = { added: 'ins', removed: 'del', same: 'span', hunk: 'span', note: 'span' } as const

export interface FileView {
  file: DiffFile
  /** Absent = the lines take no notes. */
  kept?: KeptNotes | undefined
  split: boolean
}

interface LinesProps extends FileView {
  tokens: LineColours
  /** The line whose note is being written. */
  writing: number | undefined
  write: (line: number | undefined) => void
}

/** The text of a line. Colour alone tells not everyone added from removed, so the sign is text too. */
const Coloured = ({ index, file, tokens }: { index: number } & Pick<LinesProps, 'file' | 'tokens'>) => {
  const { kind, text } = file.lines[index] as DiffLine
  const Tag = tags[kind]
  const found = tokens.get(index)
  return (
    <Tag className="diff-text">
      <span className="sign">{signs[kind]}</span>
      <bdi>
        {found === undefined
          ? text
          : found.map((token, at) => (
              // oxlint-disable-next-line react/no-array-index-key -- tokens have only their order
              <span key={at} style={token.colour === undefined ? {} : { color: token.colour }}>
                {token.text}
              </span>
            ))}
      </bdi>
    </Tag>
  )
}

/** The arrow keys move between the lines, so that a file is one stop of the tabulator. */
const moveAmongLines = (event: KeyboardEvent<HTMLElement>): void => {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  const target = event.target as HTMLElement
  if (step === undefined || !target.matches('.diff-number')) return
  const buttons = [...event.currentTarget.querySelectorAll<HTMLElement>('button.diff-number')]
  const next = buttons[buttons.indexOf(target) + step]
  if (next === undefined) return
  event.preventDefault()
  target.tabIndex = -1
  next.tabIndex = 0
  next.focus()
}

interface NumberProps extends LinesProps {
  index: number
  first: boolean
  side?: 'before' | 'after'
}

/** The number of a line, which is a button where the line takes notes. */
const LineNumber = ({ file, kept, index, first, write, writing, side }: NumberProps) => {
  const line = file.lines[index] as DiffLine
  const number = (side === undefined ? (line.after ?? line.before) : line[side]) ?? ''
  if (kept === undefined || number === '') return <span className="diff-number">{number}</span>
  return (
    <button
      type="button"
      className="diff-number"
      tabIndex={first ? 0 : -1}
      aria-label={`Note on ${line.after === undefined ? 'removed line' : 'line'} ${number}`}
      aria-expanded={writing === index}
      onClick={() => write(writing === index ? undefined : index)}
    >
      {number}
    </button>
  )
}

const NoteField = ({ file, kept, index, write }: LinesProps & { index: number; kept: KeptNotes }) => {
  const line = file.lines[index] as DiffLine
  const key = noteKey(file, line)
  const [text, setText] = useState(kept.notes[key] ?? '')
  const close = (note: string): void => {
    kept.write(key, note.trim() === '' ? undefined : note)
    write(undefined)
  }
  return (
    <form
      className="diff-note"
      onSubmit={(event) => {
        event.preventDefault()
        close(text)
      }}
    >
      <label className="field">
        What should be different on line {line.after ?? line.before}
        <textarea
          rows={2}
          maxLength={1000}
          // oxlint-disable-next-line jsx-a11y/no-autofocus -- it opens because a person pressed the number of the line
          autoFocus
          value={text}
          onChange={({ target }) => setText(target.value)}
          onKeyDown={({ key: pressed }) => pressed === 'Escape' && write(undefined)}
        />
      </label>
      <div className="buttons">
        <button type="submit" className="main">
          Keep the note
        </button>
        <button type="button" onClick={() => close('')}>
          Remove it
        </button>
      </div>
    </form>
  )
}

const NoteOf = (props: LinesProps & { index: number }) => {
  const { file, kept, index, writing, write } = props
  const line = file.lines[index] as DiffLine
  if (kept === undefined || line.kind === 'hunk' || line.kind === 'note') return null
  if (writing === index) return <NoteField {...props} kept={kept} />
  const note = kept.notes[noteKey(file, line)]
  return note === undefined ? null : (
    <div className="diff-note">
      <bdi>{note}</bdi>{' '}
      <button type="button" className="link" onClick={() => write(index)}>
        change
      </button>
    </div>
  )
}

const Unified = (props: LinesProps & { index: number; first: boolean }) => {
  const line = props.file.lines[props.index] as DiffLine
  return (
    <>
      <div className={`diff-line ${line.kind}`}>
        {line.kind === 'removed' ? (
          <>
            <LineNumber {...props} />
            <span className="diff-number" />
          </>
        ) : (
          <>
            <span className="diff-number">{line.before}</span>
            <LineNumber {...props} />
          </>
        )}
        <Coloured {...props} />
      </div>
      <NoteOf {...props} />
    </>
  )
}

const Side = ({
  at,
  side,
  ...props
}: LinesProps & { at: number | undefined; side: 'before' | 'after'; first: boolean }) => {
  if (at === undefined) return <div className="diff-side empty" />
  const { kind } = props.file.lines[at] as DiffLine
  return (
    <div className={`diff-side ${kind}`}>
      {side === 'before' && kind === 'same' ? (
        <span className="diff-number">{props.file.lines[at]?.before}</span>
      ) : (
        <LineNumber {...props} index={at} side={side} />
      )}
      <Coloured {...props} index={at} />
    </div>
  )
}

const Split = ({ row, ...props }: LinesProps & { row: SplitRow; first: boolean }) => {
  if (row.whole !== undefined)
    return (
      <div className={`diff-line ${props.file.lines[row.whole]?.kind}`}>
        <Coloured {...props} index={row.whole} />
      </div>
    )
  return (
    <>
      <div className="diff-pair">
        <Side {...props} at={row.left} side="before" />
        <Side {...props} at={row.right} side="after" />
      </div>
      {row.left !== undefined && row.left !== row.right && <NoteOf {...props} index={row.left} />}
      {row.right !== undefined && <NoteOf {...props} index={row.right} />}
    </>
  )
}

/** A file may have many thousands of lines; more of them come on request. */
const linesAtOnce = 500

const Lines = (props: LinesProps) => {
  const { file, split } = props
  const [most, setMost] = useState(linesAtOnce)
  const rows: (SplitRow | number)[] = split ? splitRows(file.lines) : [...file.lines.keys()]
  const begin = rows.findIndex((row) =>
    typeof row === 'number'
      ? file.lines[row]?.after !== undefined || file.lines[row]?.before !== undefined
      : row.whole === undefined,
  )
  return (
    <>
      <div
        role="group"
        className={`diff-lines${split ? ' split' : ''}`}
        tabIndex={0}
        aria-label={`Changes in ${file.path}`}
        onKeyDown={moveAmongLines}
      >
        <div className="diff-table">
          {rows.slice(0, most).map((row, at) =>
            typeof row === 'number' ? (
              // oxlint-disable-next-line react/no-array-index-key -- the lines of a change do not move
              <Unified key={at} {...props} index={row} first={at === begin} />
            ) : (
              // oxlint-disable-next-line react/no-array-index-key -- the lines of a change do not move
              <Split key={at} {...props} row={row} first={at === begin} />
            ),
          )}
        </div>
      </div>
      {rows.length > most && (
        <button type="button" className="link" onClick={() => setMost(most + 4 * linesAtOnce)}>
          {plural(rows.length - most, 'more line')} of this file
        </button>
      )}
    </>
  )
}

export const FileDiff = ({ open, toggle, ...view }: FileView & { open: boolean; toggle: (open: boolean) => void }) => {
  const { file, kept } = view
  const [writing, write] = useState<number>()
  const tokens = useTokens(file, open)
  const notes = file.lines.filter((line) => kept?.notes[noteKey(file, line)] !== undefined).length
  return (
    <details className="diff-file" open={open} onToggle={({ currentTarget }) => toggle(currentTarget.open)}>
      <summary>
        <code>
          <bdi>{file.path}</bdi>
        </code>{' '}
        <span className="added">+{file.added}</span> <span className="removed">−{file.removed}</span>
        {notes > 0 && <span className="badge warn">{plural(notes, 'note')}</span>}
        {!open && file.lines.length > 300 && (
          <span className="quiet"> {plural(file.lines.length, 'line')}, folded</span>
        )}
      </summary>
      {open && <Lines {...view} tokens={tokens} writing={writing} write={write} />}
    </details>
  )
}
