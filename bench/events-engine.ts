/** The engine of bench/events.ts, in a process of its own: `node bench/events-engine.ts <streams of the owner>` in a repository. */
import { serve } from '../src/api/serve.ts'

const served = await serve({
  root: process.cwd(),
  environment: process.env,
  version: 'bench',
  following: { ownerStreams: Number(process.argv[2]) },
})
process.once('SIGTERM', () => void served.stop())
process.stdout.write('ready\n')
await served.stopped
process.exit(0)
