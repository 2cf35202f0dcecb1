/** The frame of every page: whose engine this is, whether it answers, what waits for a person, and the page itself. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import { isFailure } from './data/client.ts'
import { useLive, type Stream } from './data/live.ts'
import { useHealth, useStatus } from './data/queries.ts'
import { useShortcuts } from './data/shortcuts.ts'
import type { Goal } from './logic/board.ts'
import { splitQuestions } from './logic/questions.ts'
import { linkTo, routeOf, type Route } from './logic/route.ts'
import { plural } from './logic/text.ts'
import { BoardPage, type Picture } from './pages/board-page.tsx'
import { GoalPage } from './pages/goal-page.tsx'
import { Missing } from './pages/missing.tsx'
import { RunPage } from './pages/run-page.tsx'
import { TaskPage } from './pages/task-page.tsx'
import { Command, Loading, Said } from './parts/basics.tsx'
import { Questions } from './parts/questions.tsx'
import { ThemeChoice } from './parts/theme.tsx'

const useRoute = (): Route => {
  const [hash, setHash] = useState(location.hash)
  useEffect(() => {
    const look = (): void => setHash(location.hash)
    window.addEventListener('hashchange', look)
    return () => window.removeEventListener('hashchange', look)
  }, [])
  return routeOf(hash)
}

/** Whether a page is about a goal that ended too long ago to be in the standing picture. */
const isOlder = (route: Route, { goals, endedLeftOut }: { goals: readonly Goal[]; endedLeftOut: number }): boolean => {
  if (endedLeftOut === 0) return false
  if (route.page === 'goal') return !goals.some(({ id }) => id === route.id)
  return route.page === 'task' && !goals.some(({ tasks }) => tasks.some(({ id }) => id === route.id))
}

const pageOf = (route: Route, picture: Picture): ReactNode => {
  switch (route.page) {
    case 'board':
      return <BoardPage {...picture} />
    case 'goal':
      return <GoalPage key={route.id} id={route.id} picture={picture} />
    case 'task':
      return <TaskPage key={route.id} id={route.id} picture={picture} />
    case 'run':
      return <RunPage key={route.id} id={route.id} part={route.part} picture={picture} />
    case 'unknown':
      return <Missing what={`page ${route.address}`} />
  }
}

const LoggedOut = () => (
  <section className="empty-state" role="alert">
    <h1>You are not logged in</h1>
    <p>
      The login of this page has ended, or its address was used before. In a terminal in the repository, this prints a
      new address:
    </p>
    <Command text="unstuck login-url" />
    <p className="quiet">This page goes on by itself when you have opened it in this browser.</p>
  </section>
)

const Gone = ({ problem }: { problem: string }) => (
  <div className="notice" role="alert">
    <strong>The engine does not answer.</strong> {problem !== '' && <Said text={`It says: ${problem}. `} />}It is tried
    again every two seconds; agents that were at work go on for a while. To start it: <code>unstuck up</code> in the
    repository. Should it begin at another address, that command prints it.
  </div>
)

const connections: Record<Stream, string> = { opening: 'connecting', live: 'live', lost: 'reconnecting' }

const useTitle = (root: string | undefined, waiting: number): void => {
  const name = root?.split('/').at(-1) ?? ''
  useEffect(() => {
    document.title = `${waiting > 0 ? `(${waiting}) ` : ''}${name === '' ? 'Unstuck' : `${name}: Unstuck`}`
  }, [waiting, name])
}

/** Whether the engine is another version than the one that this page was loaded from. */
const useIsUpdated = (version: string | undefined): boolean => {
  const [first, setFirst] = useState<string>()
  useEffect(() => setFirst((known) => known ?? version), [version])
  return first !== undefined && version !== undefined && first !== version
}

const Head = ({ connection, waiting }: { connection: string; waiting: number }) => {
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
          <Said text={data.root} />
        </span>
      )}
      <span className="spacer" />
      {data !== undefined && <span className="quiet at-work">{plural(data.running, 'agent')} at work</span>}
      <span className={`connection ${connection.replace(' ', '-')}`} role="status">
        {connection}
      </span>
      <ThemeChoice />
      {updated && (
        <a className="badge warn" href="/">
          the engine was updated: reload
        </a>
      )}
    </header>
  )
}

/** Keyboard and screen reader begin with the page that was gone to, not with the link that led there. */
const useFocusOnMove = (route: Route) => {
  const main = useRef<HTMLElement>(null)
  const address = JSON.stringify(route)
  const part = route.page === 'run' ? route.part : undefined
  const before = useRef(address)
  useEffect(() => {
    if (before.current === address) return
    before.current = address
    // A part that the address names takes the focus itself.
    if (part !== undefined) return
    window.scrollTo(0, 0)
    main.current?.focus()
  }, [address, part])
  return main
}

/** The standing picture, with the older goal that this page is about, and how the engine answers. */
const usePicture = (route: Route) => {
  const { data, error } = useStatus(false)
  const older = useStatus(data !== undefined && isOlder(route, data) ? true : null)
  const stream = useLive(data?.lastEvent)
  const loggedOut = isFailure(error) && error.status === 401
  const gone = error !== null && !loggedOut
  const questions = data?.escalations ?? []
  const seen = older.data ?? data
  const picture: Picture | undefined =
    loggedOut || data === undefined || seen === undefined || older.isLoading
      ? undefined
      : { goals: seen.goals, leftOut: seen.endedLeftOut, questions, clock: data.clock }
  const connection = loggedOut ? 'logged out' : gone ? 'gone' : connections[stream]
  return { picture, questions, connection, loggedOut, fault: gone ? error : null }
}

export const Shell = () => {
  const route = useRoute()
  const { picture, questions, connection, loggedOut, fault } = usePicture(route)
  const main = useFocusOnMove(route)
  const { here, elsewhere } = splitQuestions(questions, route)
  useShortcuts()
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        To the content
      </a>
      <Head connection={connection} waiting={questions.length} />
      {fault !== null && <Gone problem={isFailure(fault) && fault.status > 0 ? fault.message : ''} />}
      {picture !== undefined && (
        <Questions questions={elsewhere} here={here.length} goals={picture.goals} clock={picture.clock} />
      )}
      <main id="main" ref={main} tabIndex={-1}>
        {loggedOut && <LoggedOut />}
        {picture === undefined ? !loggedOut && <Loading what="the board" /> : pageOf(route, picture)}
      </main>
    </>
  )
}
