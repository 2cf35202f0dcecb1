/** An agent without a sandbox that finds the password of the store and connects to it: it is seen, cut off and reported. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { openScene, type Scene } from '../recovery/scene.ts'

const pg = pathToFileURL(createRequire(import.meta.url).resolve('pg')).href

/** Connects under each name, waits until it is cut off, and works on; `environment.txt` is all that it was told. */
const program = `
const { readdirSync } = await import('node:fs')
const { default: pg } = await import('${pg}')
const top = 'TOP/home/postgres'
const folder = join(top, readdirSync(top).find((name) => /^[0-9]+$/.test(name)))
const [socket] = readFileSync(join(folder, 'socket'), 'utf8').split('\\n')
const password = readFileSync(join(folder, 'password'), 'utf8')
put('TOP/environment.txt', JSON.stringify(process.env))
const cut = (name) => new Promise((resolve) => {
  const client = new pg.Client({ host: socket, user: 'unstuck', database: 'postgres', password, application_name: name })
  client.on('error', () => resolve())
  client.on('end', () => resolve())
  client.connect().then(() => client.query('select 1'))
})
await Promise.all([cut('psql'), cut('unstuck-0123456789ab-1')])
put('made.txt', 'made')
`

interface Payload {
  connections: { name: string }[]
}

let scene: Scene
afterEach(async () => scene.clear())

test('a connection that is not ours is ended and reported, whatever it calls itself', async () => {
  // On a shared server any engine may be the first to see it.
  scene = await openScene({ intruder: { driver: 'command', program } }, {}, { ownServer: true })
  const goal = await scene.goal([{}])
  await scene.until(goal, 'ready')
  const ended = (await scene.get<{ type: string; payload: Payload }[]>('/events?limit=1000')).filter(
    ({ type }) => type === 'store.connection_ended',
  )
  expect(ended.flatMap(({ payload }) => payload.connections.map(({ name }) => name)).sort()).toEqual([
    'psql',
    'unstuck-0123456789ab-1',
  ])
  const told = readFileSync(join(scene.top, 'environment.txt'), 'utf8')
  const [socket = ''] = readFileSync(join(scene.top, 'home/postgres/18/socket'), 'utf8').split('\n')
  const password = readFileSync(join(scene.top, 'home/postgres/18/password'), 'utf8')
  for (const secret of [socket, password, join(scene.top, 'home/postgres')]) expect(told).not.toContain(secret)
})
