/**
 * Carries the program's environment through the shim. Variables that steer a Node program or the dynamic linker belong to
 * the program alone: `NODE_OPTIONS=--require ./setup.js` of a command would otherwise end the shim before its first
 * line. They travel under another name, in memory only, since the environment may hold secrets.
 */
const steering = /^(NODE_|LD_|DYLD_)/
const prefix = 'UNSTUCK_CARRIED_'

type Environment = Record<string, string | undefined>

export const wrapEnvironment = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment).map(([name, value]) => [steering.test(name) ? `${prefix}${name}` : name, value]),
  )

export const unwrapEnvironment = (environment: Environment): Environment =>
  Object.fromEntries(
    Object.entries(environment)
      .filter(([name]) => !steering.test(name))
      .map(([name, value]) => [name.startsWith(prefix) ? name.slice(prefix.length) : name, value]),
  )
