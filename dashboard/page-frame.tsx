/** The frame of every page: the repository, the connection to the engine, the link to the inbox, and the page itself. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { isRequestFailure } from './data/client.ts'
import { useLive, type StreamState } from './data/live-updates.ts'
import { useHealth, useStatus } from './data/queries.ts'
import { useShortcuts } from './data/shortcuts.ts'
import type { BoardGoal } from './logic/board.ts'
import { waitingText } from './logic/questions.ts'
import { linkTo, parseRoute, type PageRoute } from './logic/route.ts'
import { plural } from './logic/text.ts'
import { BoardPage, type PageData } from './pages/board-page.tsx'
import { GoalPage } from './pages/goal-page.tsx'
import { InboxPage } from './pages/inbox-page.tsx'
import { NotFound } from './pages/not-found.tsx'
import { RunPage } from './pages/run-page.tsx'
import { TaskPage } from './pages/task-page.tsx'
import { CommandLine, Loading, SafeText } from './parts/basics.tsx'
import { ThemeChoice } from './parts/theme.tsx'

const useRoute = (): PageRoute => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const update = (): void => setHash(location.hash)
    window.addEventListener('hashchange', update)
    return () => window.removeEventListener('hashchange', update)
  }, [])
  return parseRoute(hash)
}

/** Whether a page shows a goal that ended too long ago to be in the plain status. */
const isOlder = (
  route: PageRoute,
  { goals, endedLeftOut }: { goals: readonly BoardGoal[]; endedLeftOut: number },
): boolean => {
  if (endedLeftOut === 0) return false
  if (route.page === 'goal') return !goals.some(({ id }) => id === route.id)
  return route.page === 'task' && !goals.some(({ tasks }) => tasks.some(({ id }) => id === route.id))
}

const pageOf = (route: PageRoute, picture: PageData): ReactNode => {
  switch (route.page) {
    case 'board':
      return <BoardPage {...picture} />
    case 'inbox':
      return <InboxPage key={route.id} at={route.id} clock={picture.clock} />
    case 'goal':
      return <GoalPage key={route.id} id={route.id} picture={picture} />
    case 'task':
      return <TaskPage key={route.id} id={route.id} picture={picture} />
    case 'run':
      return <RunPage key={route.id} id={route.id} part={route.part} find={route.find} picture={picture} />
    case 'unknown':
      return <NotFound what={`page ${route.address}`} />
  }
}

const LoggedOut = () => (
  <section className="empty-state" role="alert">
    <h1>You are not logged in</h1>
    <p>Your login has expired, or its address was used before. To get a new address, run this in the repository:</p>
    <CommandLine text="unstuck login-url" />
    <p className="quiet">Open the address in this browser; this page then continues by itself.</p>
  </section>
)

const Gone = ({ problem }: { problem: string }) => (
  <div className="notice" role="alert">
    <strong>The engine is not responding.</strong> {problem !== '' && <SafeText text={`Its error: ${problem}. `} />}
    This page tries again every two seconds. Agents that were running keep running for a while. To start the engine, run{' '}
    <code>unstuck up</code> in the repository; if its address has changed, the command prints the new one.
  </div>
)

/** What no goal shows: settings that wait or are not valid, and agents that were refused. */
const OwnerNotices = ({ notices }: { notices: readonly string[] }) => (
  <div role="status">
    {notices.map((text) => (
      <p key={text} className="notice">
        <SafeText text={text} />
      </p>
    ))}
  </div>
)

const connections: Record<StreamState, string> = { opening: 'connecting', live: 'live', lost: 'reconnecting' }

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

/** However many questions wait, they take the room of one link from the other pages. */
const InboxLink = ({ waiting, here }: { waiting: number; here: boolean }) => (
  <a
    className={waiting > 0 ? 'inbox-link badge warn' : 'inbox-link quiet'}
    href={linkTo.inbox}
    {...(here ? { 'aria-current': 'page' as const } : {})}
  >
    {waitingText(waiting)}
  </a>
)

interface HeadProps {
  connection: string
  waiting: number
  route: PageRoute
}

const Head = ({ connection, waiting, route }: HeadProps) => {
  const { data } = useHealth()
  const updated = useIsUpdated(data?.version)
  useTitle(data?.root, waiting)
  return (
    <header>
      <a className="brand" href={linkTo.board}>
        Unstuck
      </a>
      {data !== undefined && (
        <span className="root" title={data.root}>
          <SafeText text={data.root} />
        </span>
      )}
      <span className="spacer" />
      <InboxLink waiting={waiting} here={route.page === 'inbox'} />
      {data !== undefined && <span className="quiet at-work">{plural(data.running, 'agent')} running</span>}
      <span className={`connection ${connection.replace(' ', '-')}`} role="status">
        {connection}
      </span>
      <ThemeChoice />
      {updated && (
        <a className="badge warn" href="/">
          The engine was updated. Reload
        </a>
      )}
    </header>
  )
}

/** After a change of page, keyboard and screen reader continue in the new page instead of at the link that was followed. */
const useFocusOnMove = (route: PageRoute) => {
  const main = useRef<HTMLElement>(null)
  const address = JSON.stringify(route)
  const part = route.page === 'run' ? route.part : route.page === 'inbox' ? route.id : undefined
  const before = useRef(address)
  useEffect(() => {
    if (before.current === address) return
    before.current = address
    // A part of the page that the address names takes the focus itself; see data/scroll-target.ts and the inbox.
    if (part !== undefined) return
    window.scrollTo(0, 0)
    main.current?.focus()
  }, [address, part])
  return main
}

/** The status, with the older goal that this page is about, and the state of the connection. */
const usePicture = (route: PageRoute) => {
  const { data, error } = useStatus(false)
  const older = useStatus(data !== undefined && isOlder(route, data) ? true : null)
  const stream = useLive(data?.lastEvent)
  const loggedOut = isRequestFailure(error) && error.status === 401
  const gone = error !== null && !loggedOut
  const questions = data?.escalations ?? []
  const seen = older.data ?? data
  const picture: PageData | undefined =
    loggedOut || data === undefined || seen === undefined || older.isLoading
      ? undefined
      : { goals: seen.goals, leftOut: seen.endedLeftOut, questions, clock: data.clock }
  const connection = loggedOut ? 'logged out' : gone ? 'no engine' : connections[stream]
  const notices = loggedOut ? [] : (data?.notices ?? [])
  return { picture, questions, notices, connection, loggedOut, fault: gone ? error : null }
}

export const Shell = () => {
  const route = useRoute()
  const { picture, questions, notices, connection, loggedOut, fault } = usePicture(route)
  const main = useFocusOnMove(route)
  useShortcuts()
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <Head connection={connection} waiting={questions.length} route={route} />
      {fault !== null && <Gone problem={isRequestFailure(fault) && fault.status > 0 ? fault.message : ''} />}
      <OwnerNotices notices={notices} />
      <main id="main" ref={main} tabIndex={-1}>
        {loggedOut && <LoggedOut />}
        {picture === undefined ? !loggedOut && <Loading what="the board" /> : pageOf(route, picture)}
      </main>
    </>
  )
}
