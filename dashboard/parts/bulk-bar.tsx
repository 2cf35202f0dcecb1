/** What can be done with all selected tasks at once; says what became of each. */
import { useState } from 'react'
import { taskAction } from '../data/actions.ts'
import { useBulk, type BulkItem, type BulkResult } from '../data/bulk.ts'
import type { Card } from '../logic/board.ts'
import { plural } from '../logic/text.ts'
import { readableTitle } from '../../src/api/contract.ts'
import { Confirm } from './actions.tsx'
import { SafeText } from './basics.tsx'

type BulkKind = 'retry' | 'cancel'

const labels: Record<BulkKind, { button: string; done: string }> = {
  retry: { button: 'Retry', done: 'retried' },
  cancel: { button: 'Cancel', done: 'cancelled' },
}

/** Only the tasks that permit it; the engine refuses the others. */
const itemsFor = (kind: BulkKind, selected: readonly Card[]): BulkItem[] =>
  selected
    .filter(({ task }) => task.actions.includes(kind))
    .map(({ task }) => ({
      name: `#${task.number} ${readableTitle(task.title)}`,
      action: taskAction(kind, task),
    }))

const confirmCancel = (count: number) => ({
  label: 'Cancel',
  path: '',
  confirm: {
    question: count === 1 ? 'Cancel this task?' : `Cancel ${count} tasks?`,
    yes: count === 1 ? 'Cancel task' : `Cancel ${count} tasks`,
    detail: 'Their agents are stopped and no new ones are started. Their changes are kept as snapshots.',
  },
})

const Outcome = ({ kind, result }: { kind: BulkKind; result: BulkResult }) => (
  <>
    {result.done > 0 && (
      <p>
        {plural(result.done, 'task')} {labels[kind].done}.
      </p>
    )}
    {result.refused.map(({ name, message }) => (
      <p key={name} className="refused">
        <SafeText text={`${name}: ${message}`} />
      </p>
    ))}
  </>
)

export const BulkBar = ({ selected, clear }: { selected: readonly Card[]; clear: () => void }) => {
  const [kind, setKind] = useState<BulkKind>('retry')
  const [asks, setAsks] = useState(false)
  const { mutate, data, isPending } = useBulk()
  const carryOut = (what: BulkKind): void => {
    setKind(what)
    mutate(itemsFor(what, selected), { onSuccess: clear })
  }
  const counts = { retry: itemsFor('retry', selected).length, cancel: itemsFor('cancel', selected).length }
  return (
    <div className={selected.length > 0 ? 'bulk open' : 'bulk'} role="region" aria-label="Selected tasks">
      <div role="status">{data !== undefined && selected.length === 0 && <Outcome kind={kind} result={data} />}</div>
      {selected.length > 0 && (
        <div className="bulk-actions">
          <strong>{selected.length} selected</strong>
          <button type="button" disabled={isPending || counts.retry === 0} onClick={() => carryOut('retry')}>
            Retry {counts.retry}
          </button>
          <button
            type="button"
            className="danger"
            disabled={isPending || counts.cancel === 0}
            onClick={() => setAsks(true)}
          >
            Cancel {counts.cancel}
          </button>
          <button type="button" className="link" onClick={clear}>
            Select none
          </button>
        </div>
      )}
      {asks && (
        <Confirm
          action={confirmCancel(counts.cancel)}
          decide={(sure) => {
            setAsks(false)
            if (sure) carryOut('cancel')
          }}
        />
      )}
    </div>
  )
}
