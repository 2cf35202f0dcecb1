/** An engine in the middle of a long statement: opens the store in the folder that it is given, and says when it is at work. */
import { openPglite } from '../../src/store/pglite.ts'

const db = await openPglite({ dataDir: process.argv[2] ?? '' })
const busy = db.query({ text: 'select count(*) from generate_series(1, 200000000)', values: [] })
process.stdout.write('at work\n')
await busy
