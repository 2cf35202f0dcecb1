/** Every page, task and action by its name: Ctrl-K. A combobox in a modal dialog; what cannot be undone is confirmed. */
import { useEffect, useId, useRef, useState, type KeyboardEvent } from 'react'
import { goalAction, taskAction, useAction, type PageAction } from '../data/actions.ts'
import type { BoardGoal } from '../logic/board.ts'
import { entriesOf, found, type Command, type Entry } from '../logic/palette.ts'
import { linkTo } from '../logic/route.ts'
import { visible } from '../logic/text.ts'
import { Confirm } from './actions.tsx'
import { SafeText } from './basics.tsx'
import { chooseTheme } from './theme.tsx'

/** Undefined = the command is no request, or needs the form on the page of its task. */
const actionOf = (command: Command): PageAction | undefined => {
  if (command.do === 'goal') return goalAction(command.kind, command.goal)
  if (command.do !== 'task' || command.kind === 'edit') return undefined
  const action = taskAction(command.kind, command.task)
  return action.field?.required === true ? undefined : action
}

interface PaletteProps {
  goals: readonly BoardGoal[]
  /** The id of the task or goal at which the reader is. */
  here: string | undefined
  close: () => void
  showKeys: () => void
  say: (text: string, tone: 'good' | 'bad') => void
}

const useCommands = ({ close, showKeys, say }: Pick<PaletteProps, 'close' | 'showKeys' | 'say'>) => {
  const [unconfirmed, setUnconfirmed] = useState<PageAction>()
  // The palette is gone before the response is here, so the frame says what came of it.
  const { mutate } = useAction(({ label }, { error }) =>
    error === undefined ? say(`${label}: done.`, 'good') : say(`${label}: ${error.message}`, 'bad'),
  )
  const send = (action: PageAction): void => {
    mutate(action)
    close()
  }
  const carryOut = ({ command, text }: Entry): void => {
    const action = actionOf(command)
    if (action !== undefined) {
      const named = { ...action, label: text }
      if (action.confirm === undefined) send(named)
      else setUnconfirmed(named)
      return
    }
    close()
    if (command.do === 'open') location.hash = command.address
    if (command.do === 'task') location.hash = linkTo.task(command.task.id)
    if (command.do === 'theme') chooseTheme(command.theme)
    if (command.do === 'keys') showKeys()
  }
  return { unconfirmed, setUnconfirmed, send, carryOut }
}

interface ListProps {
  id: string
  entries: readonly Entry[]
  at: number
  choose: (entry: Entry) => void
}

const List = ({ id, entries, at, choose }: ListProps) => (
  <ul className="palette-list" role="listbox" id={id} aria-label="Pages, tasks and actions">
    {entries.map((entry, index) => (
      // oxlint-disable-next-line jsx-a11y/click-events-have-key-events -- the keys are those of the field above
      <li key={entry.id} id={`${id}-${index}`} role="option" aria-selected={index === at} onClick={() => choose(entry)}>
        <span className="what">
          <SafeText text={entry.text} />
        </span>
        <span className="quiet">{visible(entry.hint)}</span>
      </li>
    ))}
  </ul>
)

export const Palette = (props: PaletteProps) => {
  const [typed, type] = useState('')
  const [wanted, setWanted] = useState(0)
  const [all] = useState(() => entriesOf(props.goals, props.here))
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  // The dialog of the browser gives the focus back when it is closed; after a confirmation it is gone already.
  const close = (): void => (dialog.current === null ? props.close() : dialog.current.close())
  const { unconfirmed, setUnconfirmed, send, carryOut } = useCommands({ ...props, close })
  const entries = found(all, typed)
  const at = Math.min(wanted, entries.length - 1)
  useEffect(() => dialog.current?.showModal(), [])
  useEffect(() => {
    // Newer browsers return a promise here, which is no clean-up.
    document.getElementById(`${id}-${at}`)?.scrollIntoView({ block: 'nearest' })
  }, [id, at])
  const press = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    const entry = entries[at]
    if (step === 0 && event.key !== 'Enter') return
    event.preventDefault()
    if (step !== 0) setWanted((at + step + entries.length) % Math.max(1, entries.length))
    else if (entry !== undefined) carryOut(entry)
  }
  if (unconfirmed !== undefined)
    return (
      <Confirm
        action={unconfirmed}
        decide={(sure) => {
          setUnconfirmed(undefined)
          if (sure) send(unconfirmed)
          else close()
        }}
      />
    )
  return (
    <dialog ref={dialog} className="palette" aria-label="Find" onClose={props.close}>
      <input
        type="search"
        role="combobox"
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={entries.length === 0 ? undefined : `${id}-${at}`}
        aria-label="Find a page, task or action"
        placeholder="Find a page, task or action"
        autoFocus
        value={typed}
        onChange={({ target }) => (type(target.value), setWanted(0))}
        onKeyDown={press}
      />
      {entries.length === 0 && (
        <p role="status" className="quiet none">
          Nothing has this name.
        </p>
      )}
      <List id={id} entries={entries} at={at} choose={carryOut} />
    </dialog>
  )
}
