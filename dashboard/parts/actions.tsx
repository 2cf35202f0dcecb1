/** Buttons for actions: disabled during the request, confirmed where there is no way back; a refusal is shown as text. */
import { useEffect, useRef, useState } from 'react'
import { useAction, type PageAction } from '../data/actions.ts'
import { visible } from '../logic/text.ts'
import { PatchLines } from './diff.tsx'

interface ConfirmProps {
  action: PageAction
  decide: (sure: boolean) => void
}

/** The modal dialog of the browser traps the focus, and Escape closes it. */
export const Confirm = ({ action, decide }: ConfirmProps) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const no = useRef<HTMLButtonElement>(null)
  useEffect(() => {
    dialog.current?.showModal()
    // A second Enter must not confirm.
    no.current?.focus()
  }, [])
  const { question = '', detail = '', yes = action.label, no: stay = 'Keep working', patch = '' } = action.confirm ?? {}
  return (
    <dialog ref={dialog} aria-labelledby="confirm-question" onClose={() => decide(false)}>
      <h2 id="confirm-question">{question}</h2>
      <p>{visible(detail)}</p>
      {patch !== '' && <PatchLines text={patch} />}
      <div className="buttons">
        <button type="button" className={action.preview === undefined ? 'danger' : 'main'} onClick={() => decide(true)}>
          {yes}
        </button>
        <button type="button" ref={no} onClick={() => decide(false)}>
          {stay}
        </button>
      </div>
    </dialog>
  )
}

interface ButtonsProps {
  actions: PageAction[]
  about: string
  isDisabled: (action: PageAction) => boolean
  choose: (action: PageAction) => void
}

const Buttons = ({ actions, about, isDisabled, choose }: ButtonsProps) => (
  <div className="buttons">
    {actions.map((action) => (
      <button
        key={action.label}
        type="button"
        className={action.tone ?? ''}
        disabled={isDisabled(action)}
        title={action.command}
        aria-label={`${action.label}: ${about}`}
        onClick={() => choose(action)}
      >
        {action.label}
      </button>
    ))}
  </div>
)

/** An empty text is not sent. */
const withText = (action: PageAction, written: string): PageAction =>
  action.field === undefined || written.trim() === ''
    ? action
    : { ...action, body: { ...action.body, [action.field.name]: written, by: 'dashboard' } }

interface TextProps {
  field: NonNullable<PageAction['field']>
  disabled: boolean
  written: string
  write: (text: string) => void
  send: () => void
}

const Text = ({ field, disabled, written, write, send }: TextProps) => (
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
        value={written}
        maxLength={field.max}
        required={field.required}
        disabled={disabled}
        onChange={({ target }) => write(target.value)}
      />
    </label>
  </form>
)

export const Actions = ({ actions, about }: { actions: PageAction[]; about: string }) => {
  const [unconfirmed, setUnconfirmed] = useState<PageAction>()
  const [written, write] = useState('')
  const { mutate, isPending, error } = useAction()
  const withField = actions.find(({ field }) => field !== undefined)
  if (actions.length === 0 && error === null) return null
  const choose = (action: PageAction): void =>
    // What was sent is not to be sent again by the next click.
    action.confirm === undefined
      ? mutate(withText(action, written), { onSuccess: () => write('') })
      : setUnconfirmed(action)
  const decide = (action: PageAction, sure: boolean): void => {
    setUnconfirmed(undefined)
    if (sure) mutate(action)
  }
  const isDisabled = ({ field }: PageAction): boolean =>
    isPending || (field?.required === true && written.trim() === '')
  return (
    <div className="actions">
      {withField?.field !== undefined && (
        <Text
          field={withField.field}
          disabled={isPending}
          written={written}
          write={write}
          send={() => choose(withField)}
        />
      )}
      <Buttons actions={actions} about={about} isDisabled={isDisabled} choose={choose} />
      {error !== null && (
        <p role="alert" className="refused">
          {error.message}
        </p>
      )}
      {unconfirmed !== undefined && <Confirm action={unconfirmed} decide={(sure) => decide(unconfirmed, sure)} />}
    </div>
  )
}
