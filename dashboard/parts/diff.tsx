/** What a run changed: the files, their lines, and the notes of a person, which become the hint of a retry or the reason of a rejection. */
import { useMemo, useState, useSyncExternalStore } from 'react'
import type { DiffView, Run } from '../../src/api/contract.ts'
import { taskAction, useAction, type PageAction } from '../data/actions.ts'
import { useNotes, type KeptNotes } from '../data/notes.ts'
import { useDiff } from '../data/queries.ts'
import { useScrollTarget } from '../data/scroll-target.ts'
import type { BoardTask } from '../logic/board.ts'
import { openAtFirst, parseDiff, type DiffFile, type DiffLine } from '../logic/diff.ts'
import { noteCount, notesText } from '../logic/diff-notes.ts'
import { plural, visible } from '../logic/text.ts'
import { Loading, SafeText, Section } from './basics.tsx'
import { FileDiff } from './diff-file.tsx'

const signOf = (line: string): DiffLine['kind'] =>
  line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same'
const tagOf = { added: 'ins', removed: 'del', same: 'span' } as const

/** A short patch as a whole. */
export const PatchLines = ({ text }: { text: string }) => (
  <pre className="patch" tabIndex={0} aria-label="What is changed">
    {text
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('@@'))
      .map((line, index) => {
        const kind = signOf(line)
        const Tag = tagOf[kind as keyof typeof tagOf]
        return (
          // oxlint-disable-next-line react/no-array-index-key -- equal lines are common, and their order is all they have
          <Tag key={index} className={`diff-line ${kind}`}>
            <span className="sign">{kind === 'same' ? ' ' : kind === 'added' ? '+' : '−'}</span>
            <bdi>{visible(line.slice(1))}</bdi>
            {'\n'}
          </Tag>
        )
      })}
  </pre>
)

const sources: Record<DiffView['source'], string> = {
  commit: 'as committed',
  workspace: 'in its workspace, as of now',
  collected: 'as collected after the run',
  snapshot: 'from its last snapshot',
  none: '',
}

const mostNamed = 20

const LeftOut = ({ view }: { view: DiffView }) => {
  const more = view.leftOut.length - mostNamed
  return (
    <>
      {view.cut && <p className="quiet">The rest is not shown, because the patch is larger than 1 MiB.</p>}
      {view.leftOut.length > 0 && (
        <p className="quiet">
          Not shown (too large, or too many files): <SafeText text={view.leftOut.slice(0, mostNamed).join(', ')} />
          {more > 0 && ` and ${more} more`}
        </p>
      )}
    </>
  )
}

/** The files with their counts; a click opens the file and goes there. */
const FileList = ({ files, go }: { files: readonly DiffFile[]; go: (path: string, index: number) => void }) => (
  <ul className="diff-list" aria-label="Changed files">
    {files.map((file, index) => (
      <li key={file.path}>
        <button type="button" className="link" onClick={() => go(file.path, index)}>
          <bdi>{file.path}</bdi>
        </button>{' '}
        <span className="added">+{file.added}</span> <span className="removed">−{file.removed}</span>
      </li>
    ))}
  </ul>
)

/** As in task.css: two columns of code need room. */
const wideEnough = '(width >= 60rem)'

const useWide = (): boolean =>
  useSyncExternalStore(
    (changed) => {
      const query = matchMedia(wideEnough)
      query.addEventListener('change', changed)
      return () => query.removeEventListener('change', changed)
    },
    () => matchMedia(wideEnough).matches,
  )

/** Remembered for all changes. */
const splitKey = 'unstuck.diff'

const useSplit = (): [boolean, (on: boolean) => void] => {
  const wide = useWide()
  const [split, setSplit] = useState(() => {
    try {
      return localStorage.getItem(splitKey) === 'split'
    } catch {
      return false // the browser denies storage
    }
  })
  const change = (on: boolean): void => {
    setSplit(on)
    try {
      localStorage.setItem(splitKey, on ? 'split' : 'unified')
    } catch {
      // The browser denies storage; the choice lasts until the page is closed.
    }
  }
  return [split && wide, change]
}

const addedIn = (files: readonly DiffFile[], side: 'added' | 'removed'): number =>
  files.reduce((sum, file) => sum + file[side], 0)

const Files = ({ view, kept }: { view: DiffView; kept?: KeptNotes }) => {
  const files = useMemo(() => parseDiff(view.diff), [view.diff])
  const [open, setOpen] = useState(() => openAtFirst(files))
  const [split, setSplit] = useSplit()
  if (view.fileCount === 0) return <p className="quiet">No file was changed.</p>
  const toggle = (path: string, on: boolean): void =>
    setOpen((old) => (on ? new Set([...old, path]) : new Set([...old].filter((each) => each !== path))))
  const go = (path: string, index: number): void => {
    toggle(path, true)
    document.getElementById(`diff-${view.run}-${index}`)?.scrollIntoView({ block: 'start' })
  }
  return (
    <>
      <div className="diff-head">
        <p className="quiet">
          {plural(view.fileCount, 'file')} <span className="added">+{addedIn(files, 'added')}</span>{' '}
          <span className="removed">−{addedIn(files, 'removed')}</span>, {sources[view.source]}
        </p>
        <label className="switch wide-only">
          <input type="checkbox" checked={split} onChange={({ target }) => setSplit(target.checked)} /> Side by side
        </label>
      </div>
      {files.length > 1 && <FileList files={files} go={go} />}
      {files.map((file, index) => (
        <div key={file.path} id={`diff-${view.run}-${index}`}>
          <FileDiff
            file={file}
            kept={kept}
            split={split}
            open={open.has(file.path)}
            toggle={(on) => toggle(file.path, on)}
          />
        </div>
      ))}
      <LeftOut view={view} />
    </>
  )
}

/** What the notes may become now, by what the task allows. */
const uses = (task: BoardTask, text: string): PageAction[] =>
  [
    ...(task.actions.includes('reject')
      ? [{ ...taskAction('reject', task), label: 'Reject with these notes', field: 'note' }]
      : []),
    ...(task.actions.includes('retry')
      ? [{ ...taskAction('retry', task), label: 'Retry with these notes', field: 'hint' }]
      : []),
  ].map(({ field, ...action }) => ({ ...action, body: { ...action.body, [field]: text, by: 'dashboard' } }))

const mostCharacters = 10_000

const NotesBar = ({ view, kept, task }: { view: DiffView; kept: KeptNotes; task: BoardTask }) => {
  const { mutate, isPending, error, isSuccess } = useAction()
  const text = useMemo(() => notesText(parseDiff(view.diff), kept.notes), [view.diff, kept.notes])
  const count = noteCount(kept.notes)
  if (count === 0)
    return isSuccess ? (
      <p role="status">Your notes were sent.</p>
    ) : (
      <p className="quiet">To leave a note for the agent, press the number of a line.</p>
    )
  const actions = uses(task, text)
  return (
    <section className="notes-bar" aria-label="Your notes">
      <p>
        <strong>{plural(count, 'note')}</strong>{' '}
        {actions.length === 0 && (
          <span className="quiet">
            The task takes none now. They stay in this tab until it can be retried or rejected.
          </span>
        )}
      </p>
      <div className="buttons">
        {actions.map((action, index) => (
          <button
            key={action.label}
            type="button"
            className={index === 0 ? 'main' : ''}
            disabled={isPending || text.length > mostCharacters}
            onClick={() => mutate(action, { onSuccess: kept.clear })}
          >
            {action.label}
          </button>
        ))}
        <button type="button" disabled={isPending} onClick={kept.clear}>
          Remove all
        </button>
      </div>
      {text.length > mostCharacters && <p className="refused">The notes are longer than 10,000 characters together.</p>}
      {error !== null && (
        <p role="alert" className="refused">
          {error.message}
        </p>
      )}
    </section>
  )
}

const Changes = ({ run, state, task }: { run: string; state: string; task?: BoardTask | undefined }) => {
  const { data, error } = useDiff(run, state)
  const kept = useNotes(run)
  return (
    <>
      {data !== undefined && <Files key={data.diff} view={data} {...(task === undefined ? {} : { kept })} />}
      {data !== undefined && task !== undefined && data.fileCount > 0 && (
        <NotesBar view={data} kept={kept} task={task} />
      )}
      {data === undefined && error === null && <Loading what="the changes" />}
      {error !== null && (
        <p role="status" className="refused">
          The changes could not be read: {error.message}
        </p>
      )}
    </>
  )
}

/** Within the card of a question about finished work: what a person decides about. */
export const WorkView = ({ run }: { run: string }) => (
  <details open>
    <summary>What it changes</summary>
    <Changes run={run} state="success" />
  </details>
)

interface DiffSectionProps {
  run: Pick<Run, 'id' | 'state'>
  arrive: boolean
  /** The task whose next attempt gets the notes. */
  task?: BoardTask | undefined
}

export const DiffSection = ({ run, arrive, task }: DiffSectionProps) => {
  const { data, refetch, isFetching } = useDiff(run.id, run.state)
  const top = useScrollTarget(arrive, data !== undefined)
  const again =
    run.state === 'running' ? (
      <button type="button" disabled={isFetching} onClick={() => void refetch()}>
        Refresh
      </button>
    ) : undefined
  return (
    <div ref={top} tabIndex={-1} className="arrival">
      <Section title="Changes" extra={again}>
        <Changes run={run.id} state={run.state} task={task} />
      </Section>
    </div>
  )
}
