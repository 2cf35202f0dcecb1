/** Starts the dashboard. Requests are sent even while the browser reports no network, because the engine is on this machine. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createRoot } from 'react-dom/client'
import { beginSession } from './data/session.ts'
import { showKeptTheme } from './parts/theme.tsx'
import { Shell } from './page-frame.tsx'
import './style.css'
import './frame.css'
import './now.css'
import './work.css'
import './figures.css'
import './repositories.css'
import './recovery.css'
import './task.css'

const always = { networkMode: 'always', retry: false } as const

const client = new QueryClient({ defaultOptions: { queries: always, mutations: always } })

showKeptTheme()
await beginSession()
const root = document.querySelector('#root')
if (root === null) throw new Error('index.html has no #root')
createRoot(root).render(
  <QueryClientProvider client={client}>
    <Shell />
  </QueryClientProvider>,
)
