/** What a run changed, file by file. Each line has its sign, because colour alone does not tell added from removed for everyone. */
import { useState } from 'react'
import type { DiffView, Run } from '../../src/api/contract.ts'
import { useScrollTarget } from '../data/scroll-target.ts'
import { useDiff } from '../data/queries.ts'
import { lineCount, mostOpenLines, parseDiff, type DiffFile, type DiffLine } from '../logic/diff.ts'
import { plural, visible } from '../logic/text.ts'
import { Loading, SafeText, Section } from './basics.tsx'

const signs: Record<DiffLine['kind'], string> = { added: '+', removed: '−', same: ' ', hunk: '', note: '' }
const tags = { added: 'ins', removed: 'del', same: 'span', hunk: 'span', note: 'span' } as const

const patchLine = (line: string): DiffLine => ({
  kind: line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : 'same',
  text: visible(line.slice(1)),
})

const Line = ({ line: { kind, text } }: { line: DiffLine }) => {
  const Tag = tags[kind]
  return (
    <Tag className={`diff-line ${kind}`}>
      <span className="sign">{signs[kind]}</span>
      <bdi>{text}</bdi>
      {'\n'}
    </Tag>
  )
}

/** A short patch as a whole. */
export const PatchLines = ({ text }: { text: string }) => (
  <pre className="patch" tabIndex={0} aria-label="What is changed">
    {text
      .trimEnd()
      .split('\n')
      .filter((line) => !line.startsWith('@@'))
      .map((line, index) => (
        // oxlint-disable-next-line react/no-array-index-key -- equal lines are common, and their order is all they have
        <Line key={index} line={patchLine(line)} />
      ))}
  </pre>
)

const File = ({ file, begin }: { file: DiffFile; begin: boolean }) => {
  const [open, setOpen] = useState(begin)
  return (
    <details className="diff-file" open={open} onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <code>
          <bdi>{file.path}</bdi>
        </code>{' '}
        <span className="added">+{file.added}</span> <span className="removed">−{file.removed}</span>
      </summary>
      {open && (
        <pre tabIndex={0} aria-label={`Changes in ${file.path}`}>
          {file.lines.map((line, index) => (
            // oxlint-disable-next-line react/no-array-index-key -- equal lines are common, and their order is all they have
            <Line key={index} line={line} />
          ))}
        </pre>
      )}
    </details>
  )
}

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

const Files = ({ view }: { view: DiffView }) => {
  if (view.fileCount === 0) return <p className="quiet">No file was changed.</p>
  const files = parseDiff(view.diff)
  const begin = lineCount(files) <= mostOpenLines
  return (
    <>
      <p className="quiet">
        {plural(view.fileCount, 'file')}, {sources[view.source]}
      </p>
      {files.map((file) => (
        <File key={file.path} file={file} begin={begin} />
      ))}
      <LeftOut view={view} />
    </>
  )
}

/** Within the card of a question about finished work: what a person decides about. */
export const WorkView = ({ run }: { run: string }) => {
  const { data, error } = useDiff(run, 'success')
  return (
    <details open>
      <summary>What it changes</summary>
      {data !== undefined && <Files view={data} />}
      {data === undefined && error === null && <Loading what="the changes" />}
      {error !== null && (
        <p role="status" className="refused">
          The changes could not be read: {error.message}
        </p>
      )}
    </details>
  )
}

export const DiffSection = ({ run, arrive }: { run: Run; arrive: boolean }) => {
  const { data, error, refetch, isFetching } = useDiff(run.id, run.state)
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
        {data !== undefined && <Files view={data} />}
        {data === undefined && error === null && <Loading what="the changes" />}
        {error !== null && (
          <p role="status" className="refused">
            The changes could not be read: {error.message}
          </p>
        )}
      </Section>
    </div>
  )
}
