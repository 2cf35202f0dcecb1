/** The form that edits a task. It keeps the values it was opened with, so that it does not undo a change made meanwhile. */
import { useState, type FormEvent } from 'react'
import { useAction } from '../data/actions.ts'
import type { BoardTask } from '../logic/board.ts'
import { editable, editFields, editOf, fieldText } from '../logic/edit.ts'

const Field = ({ task, field: { name, label, rows } }: { task: BoardTask; field: (typeof editFields)[number] }) => (
  <label className="field">
    {label}
    {rows === 1 ? (
      <input type="text" name={name} defaultValue={fieldText(task, name)} />
    ) : (
      <textarea name={name} rows={rows} defaultValue={fieldText(task, name)} />
    )}
  </label>
)

const Form = ({ task, close }: { task: BoardTask; close: (message: string) => void }) => {
  const [shown] = useState(() => editable(task))
  const { mutate, isPending, error } = useAction()
  const save = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault()
    const form = new FormData(event.currentTarget)
    const read = (name: string): string => {
      const value = form.get(name)
      return typeof value === 'string' ? value : ''
    }
    const body = editOf(shown, read, read('why'))
    if (body === undefined) return close('Nothing was changed.')
    mutate({ label: 'Save', method: 'PATCH', path: `/tasks/${task.id}`, body }, { onSuccess: () => close('Saved.') })
  }
  return (
    <form className="edit" onSubmit={save}>
      {editFields.map((field) => (
        <Field key={field.name} task={shown} field={field} />
      ))}
      <label className="field">
        Reason (required if the task may change more files than before)
        <input type="text" name="why" maxLength={300} />
      </label>
      {error !== null && (
        <p role="alert" className="refused">
          {error.message}
        </p>
      )}
      <div className="buttons">
        <button type="submit" className="main" disabled={isPending}>
          Save
        </button>
        <button type="button" onClick={() => close('')}>
          Close without saving
        </button>
      </div>
    </form>
  )
}

export const EditTask = ({ task }: { task: BoardTask }) => {
  const [open, setOpen] = useState(false)
  const [message, setMessage] = useState('')
  const close = (text: string): void => {
    setOpen(false)
    setMessage(text)
  }
  const start = (): void => {
    setOpen(true)
    setMessage('')
  }
  return (
    <>
      {open ? (
        <Form task={task} close={close} />
      ) : (
        <button type="button" onClick={start}>
          Edit
        </button>
      )}
      <p role="status" className="quiet">
        {message}
        {task.pendingEdit !== null &&
          ' The current attempt is not affected; the edit applies from the next attempt on.'}
      </p>
    </>
  )
}
