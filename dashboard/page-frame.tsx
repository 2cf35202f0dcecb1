/** The frame of every page: its head, its keys, what stands on all of them, and the page itself. */
import { useEffect, useRef, useState, type ReactNode } from 'react'
import type { StatusView } from '../src/api/contract.ts'
import { isRequestFailure } from './data/client.ts'
import { useLive, type StreamState } from './data/live-updates.ts'
import { usePageKeys } from './data/page-keys.ts'
import { useStatus } from './data/queries.ts'
import { useShortcuts } from './data/shortcuts.ts'
import type { BoardGoal } from './logic/board.ts'
import { parseRoute, type PageRoute } from './logic/route.ts'
import type { PageData } from './pages/board-page.tsx'
import { GoalPage } from './pages/goal-page.tsx'
import { InboxPage } from './pages/inbox-page.tsx'
import { NotFound } from './pages/not-found.tsx'
import { NowPage } from './pages/now-page.tsx'
import { RecoveryPage } from './pages/recovery-page.tsx'
import { RepositoriesPage } from './pages/repositories-page.tsx'
import { RunPage } from './pages/run-page.tsx'
import { TaskPage } from './pages/task-page.tsx'
import { WorkPage } from './pages/work-page.tsx'
import { CommandLine, Loading, SafeText } from './parts/basics.tsx'
import { FrameHead } from './parts/frame-head.tsx'
import { KeysHelp } from './parts/keys-help.tsx'
import { Palette } from './parts/palette.tsx'

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

interface Picture extends PageData {
  status: StatusView
  stream: StreamState | 'gone'
}

const pageOf = (route: PageRoute, picture: Picture): ReactNode => {
  switch (route.page) {
    case 'now':
      return <NowPage {...picture} connection={picture.stream} />
    case 'work':
      return <WorkPage {...picture} query={route.query} />
    case 'inbox':
      return <InboxPage key={route.id} at={route.id} clock={picture.clock} />
    case 'recovery':
      return <RecoveryPage clock={picture.clock} />
    case 'repositories':
      return <RepositoriesPage />
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

/** After a change of page, keyboard and screen reader continue in the new page instead of at the link that was followed. */
const useFocusOnMove = (route: PageRoute) => {
  const main = useRef<HTMLElement>(null)
  // A filter changes the address of its page while the reader types into it.
  const address = route.page === 'work' ? route.page : JSON.stringify(route)
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
  const picture: Picture | undefined =
    loggedOut || data === undefined || seen === undefined || older.isLoading
      ? undefined
      : {
          ...{ goals: seen.goals, leftOut: seen.endedLeftOut, questions, clock: data.clock },
          ...{ status: data, stream: gone ? 'gone' : stream },
        }
  const connection = loggedOut ? 'logged out' : gone ? 'no engine' : connections[stream]
  const notices = loggedOut ? [] : (data?.notices ?? [])
  return { picture, questions, notices, connection, loggedOut, fault: gone ? error : null }
}

/** What became of an action whose own button is gone, for a while. */
const useSaid = () => {
  const [said, setSaid] = useState<{ text: string; tone: 'good' | 'bad' }>()
  useEffect(() => {
    if (said?.tone !== 'good') return undefined
    const timer = setTimeout(() => setSaid(undefined), 8_000)
    return () => clearTimeout(timer)
  }, [said])
  return { said, say: (text: string, tone: 'good' | 'bad') => setSaid({ text, tone }), hush: () => setSaid(undefined) }
}

const Said = ({ said, hush }: Pick<ReturnType<typeof useSaid>, 'said' | 'hush'>) => (
  <div className="said-last" role="status" aria-label="Last action">
    {said !== undefined && (
      <p className={said.tone}>
        <SafeText text={said.text} />{' '}
        <button type="button" className="link" onClick={hush}>
          Dismiss
        </button>
      </p>
    )}
  </div>
)

/** The task or goal at which the reader is: that of the page. */
const idOf = (route: PageRoute): string | undefined =>
  route.page === 'task' || route.page === 'goal' ? route.id : undefined

export const Shell = () => {
  const route = useRoute()
  const { picture, questions, notices, connection, loggedOut, fault } = usePicture(route)
  const main = useFocusOnMove(route)
  const [open, setOpen] = useState<'keys' | 'palette'>()
  const { said, say, hush } = useSaid()
  const [close, showKeys, find] = [() => setOpen(undefined), () => setOpen('keys'), () => setOpen('palette')]
  useShortcuts()
  usePageKeys({ help: showKeys, find })
  return (
    <>
      <a className="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to the content
      </a>
      <FrameHead {...{ connection, route, find, showKeys }} waiting={questions.length} />
      {fault !== null && <Gone problem={isRequestFailure(fault) && fault.status > 0 ? fault.message : ''} />}
      <OwnerNotices notices={notices} />
      <main id="main" ref={main} tabIndex={-1}>
        {loggedOut && <LoggedOut />}
        {picture === undefined ? !loggedOut && <Loading what="the work" /> : pageOf(route, picture)}
      </main>
      <Said said={said} hush={hush} />
      {open === 'keys' && <KeysHelp isInbox={route.page === 'inbox'} close={close} />}
      {open === 'palette' && (
        <Palette goals={picture?.goals ?? []} here={idOf(route)} {...{ close, say }} showKeys={showKeys} />
      )}
    </>
  )
}
