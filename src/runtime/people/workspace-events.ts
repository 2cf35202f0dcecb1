/** The events about what a workspace gets (files, set-up and packages), and about disk space. */
import { payloadText, type EventTypes, type Payload } from './event-text.ts'
import { preparedSentence } from './story-text.ts'

const megabytes = (value: unknown): string => `${Math.round(Number(value) / 1e6)} MB`

const inFolder = (payload: Payload): string => {
  const folder = payloadText(payload, 'folder')
  return folder === '' ? '' : ` in ${folder}`
}

export const workspaceEvents: EventTypes = {
  'storage.freed': {
    meaning:
      'disk space was given back, because nothing had used it for long, or the state folder or the disk was too full',
    sentence: (p) =>
      `${megabytes(p.freed)} of disk space were freed (${Array.isArray(p.kinds) ? p.kinds.join(', ') : ''}): ${payloadText(p, 'why')}${Number(p.left) > 0 ? `; ${megabytes(p.left)} more are needed, and what is left is in use: unstuck clean` : ''}`,
  },
  'run.workspace_prepared': {
    meaning: 'a fresh workspace has its submodules and the files of `workspace.copy`, and `workspace.setup` ran in it',
    sentence: preparedSentence,
  },
  'run.install_started': {
    meaning:
      'the packages that the checks need are nowhere in the workspace; they are installed before the agent starts',
    sentence: (p) => `installing packages before the agent starts: ${payloadText(p, 'commands')}${inFolder(p)}`,
  },
  'run.packages_installed': {
    meaning: 'the packages that the checks need were installed before the agent started',
    sentence: (p) =>
      `packages were installed${inFolder(p)} before the agent started, in ${payloadText(p, 'seconds')} s`,
  },
  'run.install_failed': {
    meaning:
      'packages could not be installed before the agent started; says the cause like that of a failed check, and the agent starts without them',
    sentence: (p) =>
      `packages could not be installed${inFolder(p)} (${payloadText(p, 'cause')}); the agent starts without them`,
    technical: (p) => `${payloadText(p, 'label')}: ${payloadText(p, 'detail')}`,
  },
  'run.dependencies_mended': {
    meaning: 'installed packages of a reused workspace were damaged and moved aside',
    sentence: (p) =>
      `damaged packages were moved aside (${payloadText(p, 'damage')}); ${p.laid === true ? 'they were restored from the cache' : 'they must be installed again'}`,
  },
}
