/** Which keys the inbox has. */
import { useEffect, useRef } from 'react'

const keys: readonly (readonly [names: string[], meaning: string])[] = [
  [['j', '↓'], 'next question'],
  [['k', '↑'], 'previous question'],
  [['1', '9'], 'go to a choice, or to its text'],
  [['Enter'], 'carry out the choice at which you are'],
  [['Esc'], 'leave a text, or select nothing'],
  [['x'], 'select the question, to answer several at once'],
  [['a'], 'select all with the same cause'],
  [['d'], 'what the run changed'],
  [['l'], 'log of the run'],
  [['?'], 'this list'],
]

/** The dialog of the browser closes with Escape and gives the focus back. */
export const KeysHelp = ({ close }: { close: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} aria-labelledby="keys" onClose={close}>
      <h2 id="keys">Keys</h2>
      <dl className="keys">
        {keys.map(([names, meaning]) => (
          <div key={meaning}>
            <dt>
              {names.map((name, index) => (
                <span key={name}>
                  {index > 0 && (names[0] === '1' ? ' – ' : ' ')}
                  <kbd>{name}</kbd>
                </span>
              ))}
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <div className="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  )
}
