/** The head of every page: navigation, the repository, the connection to its engine, and the ways to find something. */
import { useEffect, useState } from 'react'
import { useHealth } from '../data/queries.ts'
import { linkTo, type PageRoute } from '../logic/route.ts'
import { waitingText } from '../logic/questions.ts'
import { plural } from '../logic/text.ts'
import { SafeText } from './basics.tsx'
import { ThemeChoice } from './theme.tsx'

const useTitle = (root: string | undefined, waiting: number): void => {
  const name = root?.split('/').at(-1) ?? ''
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${name === '' ? 'Unstuck' : `${name}: Unstuck`}`
  }, [waiting, name])
}

/** Whether the engine now has another version than the one that served this page. */
const useIsUpdated = (version: string | undefined): boolean => {
  const [first, setFirst] = useState<string>()
  useEffect(() => setFirst((known) => known ?? version), [version])
  return first !== undefined && version !== undefined && first !== version
}

/** The page under which the reader finds this one. A question counts to the inbox, a task to all work. */
const placeOf = ({ page }: PageRoute): 'now' | 'work' | 'inbox' | 'recovery' | undefined => {
  if (page === 'now' || page === 'inbox' || page === 'recovery') return page
  return page === 'unknown' || page === 'repositories' ? undefined : 'work'
}

const current = (isHere: boolean, isExact: boolean) =>
  isHere ? { 'aria-current': isExact ? ('page' as const) : ('true' as const) } : {}

/** However many questions wait, they take the room of one number. */
const Navigation = ({ route, waiting }: { route: PageRoute; waiting: number }) => {
  const place = placeOf(route)
  return (
    <nav className="main-nav" aria-label="Main">
      <a href={linkTo.now} {...current(place === 'now', true)}>
        Now
      </a>
      <a href={linkTo.work()} {...current(place === 'work', route.page === 'work')}>
        Work
      </a>
      <a
        href={linkTo.inbox}
        className={waiting > 0 ? 'asks' : ''}
        aria-label={waiting > 0 ? `Inbox: ${waitingText(waiting)}` : 'Inbox'}
        {...current(place === 'inbox', true)}
      >
        Inbox {waiting > 0 && <span className="number-of">{waiting}</span>}
      </a>
      <a href={linkTo.recovery} {...current(place === 'recovery', true)}>
        Recovery
      </a>
    </nav>
  )
}

interface HeadProps {
  connection: string
  waiting: number
  route: PageRoute
  find: () => void
  showKeys: () => void
}

export const FrameHead = ({ connection, waiting, route, find, showKeys }: HeadProps) => {
  const { data } = useHealth()
  const updated = useIsUpdated(data?.version)
  useTitle(data?.root, waiting)
  return (
    <header>
      <a className="brand" href={linkTo.now}>
        Unstuck
      </a>
      <Navigation route={route} waiting={waiting} />
      {data !== undefined && (
        <a className="root" href={linkTo.repositories} title={`${data.root}: all repositories`}>
          <SafeText text={data.root} />
        </a>
      )}
      <span className="spacer" />
      {updated && (
        <a className="badge warn" href="/">
          The engine was updated. Reload
        </a>
      )}
      {data !== undefined && <span className="quiet at-work">{plural(data.running, 'agent')} running</span>}
      <span className={`connection ${connection.replace(' ', '-')}`} role="status">
        {connection}
      </span>
      <button type="button" className="find" onClick={find} aria-keyshortcuts="Control+K">
        Find <kbd aria-hidden="true">Ctrl K</kbd>
      </button>
      <button type="button" className="keys-button" onClick={showKeys} aria-keyshortcuts="?" aria-label="Keys">
        ?
      </button>
      <ThemeChoice />
    </header>
  )
}
