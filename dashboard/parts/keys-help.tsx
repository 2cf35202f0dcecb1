/** Which keys the pages have. */
import { useEffect, useRef } from 'react'

type Keys = readonly (readonly [names: readonly string[], meaning: string])[]

const everywhere: Keys = [
  [['Ctrl-K'], 'find a page, task or action'],
  [['/'], 'filter the tasks'],
  [['g', 'n'], 'go to Now'],
  [['g', 'w'], 'go to Work'],
  [['g', 'i'], 'go to the inbox'],
  [['g', 'c'], 'go to Recovery'],
  [['g', 'r'], 'go to all repositories'],
  [['?'], 'this list'],
]

const lists: Keys = [
  [['j'], 'next line'],
  [['k'], 'previous line'],
  [['o'], 'open it'],
  [['x'], 'select it, to change several at once'],
]

const inbox: Keys = [
  [['j', '↓'], 'next question'],
  [['k', '↑'], 'previous question'],
  [['1', '–', '9'], 'go to a choice, or to its text'],
  [['Enter'], 'carry out the choice at which you are'],
  [['Esc'], 'leave a text, or select nothing'],
  [['x'], 'select the question, to answer several at once'],
  [['a'], 'select all with the same cause'],
  [['d'], 'what the run changed'],
  [['l'], 'log of the run'],
]

const KeyList = ({ title, keys }: { title: string; keys: Keys }) => (
  <section>
    <h3>{title}</h3>
    <dl className="keys">
      {keys.map(([names, meaning]) => (
        <div key={meaning}>
          <dt>
            {names.map((name, index) => (
              <span key={name}>
                {index > 0 && ' '}
                {name === '–' ? name : <kbd>{name}</kbd>}
              </span>
            ))}
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  </section>
)

/** The dialog of the browser closes with Escape and gives the focus back. */
export const KeysHelp = ({ isInbox, close }: { isInbox: boolean; close: () => void }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog ref={dialog} className="keys-help" aria-labelledby="keys" onClose={close}>
      <h2 id="keys">Keys</h2>
      {isInbox ? <KeyList title="In the inbox" keys={inbox} /> : <KeyList title="In a list" keys={lists} />}
      <KeyList title="Everywhere" keys={everywhere} />
      <div className="buttons">
        <button type="button" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </div>
    </dialog>
  )
}
