/** Buttons that change something: disabled while they work, confirmed where there is no way back, refused in words. */
import { useEffect, useRef, useState } from 'react'
import { useAction, type Action } from '../data/actions.ts'

interface ConfirmProps {
  action: Action
  answer: (sure: boolean) => void
}

/** The browser's own modal dialog: it holds the focus and Escape means no. */
export const Confirm = ({ action, answer }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const no = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    // An Enter that was pressed once too often must not mean yes.
    no.current?.focus()
  }, [])
  const { question = '', detail = '', yes = action.label } = action.confirm ?? {}
  return (
    <dialog ref={dialog} aria-labelledby="confirm-question" onClose={() => answer(false)}>
      <h2 id="confirm-question">{question}</h2>
      <p>{detail}</p>
      <div className="buttons">
        <button type="button" className="danger" onClick={() => answer(true)}>
          {yes}
        </button>
        <button type="button" ref={no} onClick={() => answer(false)}>
          Keep working
        </button>
      </div>
    </dialog>
  )
}

interface ButtonsProps {
  actions: Action[]
  about: string
  disabled: boolean
  choose: (action: Action) => void
}

const Buttons = ({ actions, about, disabled, choose }: ButtonsProps) => (
  <div className="buttons">
    {actions.map((action) => (
      <button
        key={action.label}
        type="button"
        className={action.tone ?? ''}
        disabled={disabled}
        aria-label={`${action.label}: ${about}`}
        onClick={() => choose(action)}
      >
        {action.label}
      </button>
    ))}
  </div>
)

/** The text that goes with an action; an empty one does not. */
const withText = (action: Action, said: string): Action =>
  action.field === undefined || said.trim() === ''
    ? action
    : { ...action, body: { ...action.body, [action.field.name]: said, by: 'dashboard' } }

interface TextProps {
  field: NonNullable<Action['field']>
  disabled: boolean
  said: string
  say: (text: string) => void
  send: () => void
}

const Text = ({ field, disabled, said, say, send }: TextProps) => (
  <form
    onSubmit={(event) => {
      event.preventDefault()
      send()
    }}
  >
    <label className="field">
      {field.label}
      <input
        type="text"
        value={said}
        maxLength={field.max}
        disabled={disabled}
        onChange={({ target }) => say(target.value)}
      />
    </label>
  </form>
)

export const Actions = ({ actions, about }: { actions: Action[]; about: string }) => {
  const [asked, setAsked] = useState<Action>()
  const [said, say] = useState('')
  const { mutate, isPending, error } = useAction()
  const spoken = actions.find(({ field }) => field !== undefined)
  if (actions.length === 0 && error === null) return null
  const choose = (action: Action): void =>
    action.confirm === undefined ? mutate(withText(action, said)) : setAsked(action)
  const answer = (action: Action, sure: boolean): void => {
    setAsked(undefined)
    if (sure) mutate(action)
  }
  return (
    <div className="actions">
      {spoken?.field !== undefined && (
        <Text field={spoken.field} disabled={isPending} said={said} say={say} send={() => choose(spoken)} />
      )}
      <Buttons actions={actions} about={about} disabled={isPending} choose={choose} />
      {error !== null && (
        <p role="alert" className="refused">
          {error.message}
        </p>
      )}
      {asked !== undefined && <Confirm action={asked} answer={(sure) => answer(asked, sure)} />}
    </div>
  )
}
