/** One of several processes that share the seeds of a run (`--processes`): one store on their server, and one seed for each message. */
import { runSeed, type Wanted } from './seed.ts'
import { openSyncStore } from './sync-store.ts'

const store = openSyncStore(process.argv[2] ?? '')
process.on('message', ({ seed, wanted }: { seed: number; wanted: Wanted }) => {
  void store.then((open) => runSeed(seed, open, wanted)).then((result) => process.send?.(result))
})
// The process that asked has ended: nobody reads the rest.
process.on('disconnect', () => process.exit())
