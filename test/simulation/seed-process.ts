/** One of several processes that share the seeds of a run (`--processes`): one store, and one seed for each message. */
import { openSyncStore } from './pglite-sync.ts'
import { runSeed, type Wanted } from './seed.ts'

const store = openSyncStore()
process.on('message', ({ seed, wanted }: { seed: number; wanted: Wanted }) => {
  void store.then((open) => runSeed(seed, open, wanted)).then((result) => process.send?.(result))
})
// The process that asked has ended: nobody reads the rest.
process.on('disconnect', () => process.exit())
