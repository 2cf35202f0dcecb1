/** The form that edits a task. It keeps the values with which it was opened, so that a change meanwhile is not undone by it. */
import { useState, type FormEvent } from 'react'
import { useAction } from '../data/actions.ts'
import type { Task } from '../logic/board.ts'
import { editable, editFields, editOf, textOf } from '../logic/edit.ts'

const Field = ({ task, field: { name, label, rows } }: { task: Task; field: (typeof editFields)[number] }) => (
  <label className="field">
    {label}
    {rows === 1 ? (
      <input type="text" name={name} defaultValue={textOf(task, name)} />
    ) : (
      <textarea name={name} rows={rows} defaultValue={textOf(task, name)} />
    )}
  </label>
)

const Form = ({ task, close }: { task: Task; close: (said: string) => void }) => {
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
        Why; needed where the task may change more than before
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
          Leave it as it is
        </button>
      </div>
    </form>
  )
}

export const EditTask = ({ task }: { task: Task }) => {
  const [open, setOpen] = useState(false)
  const [said, setSaid] = useState('')
  const close = (text: string): void => {
    setOpen(false)
    setSaid(text)
  }
  const start = (): void => {
    setOpen(true)
    setSaid('')
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
        {said}
        {task.pendingEdit !== null && ' The present attempt goes on as it began; the edit counts from the next one.'}
      </p>
    </>
  )
}
