/** The files with which systemd or launchd keeps `unstuck up` running for one repository. Pure. */

export interface ServiceFacts {
  /** Program and arguments that start this CLI. */
  self: readonly string[]
  root: string
  /** Only what the engine needs: where programs are, and where its state is. */
  environment: Readonly<Record<string, string>>
  /** For all users of the machine, started at boot; else for this user. */
  isSystem: boolean
}

/** `%` begins a specifier of systemd, and `$` a variable. */
const unitText = (text: string): string => text.replaceAll('%', '%%')
const quoted = (text: string): string =>
  `"${unitText(text)
    .replaceAll('\\', '\\\\')
    .replaceAll('"', String.raw`\"`)}"`
const argument = (text: string): string => quoted(text).replaceAll('$', '$$$$')

/**
 * `KillMode=process`: agents run under shims of their own and the store has a server, which have to outlive the engine. A wrong
 * configuration or use is not repeated.
 */
export const systemdUnit = ({ self, root, environment, isSystem }: ServiceFacts): string =>
  [
    '[Unit]',
    `Description=Unstuck engine of ${unitText(root)}`,
    ...(isSystem ? ['Wants=network-online.target', 'After=network-online.target'] : []),
    '',
    '[Service]',
    'Type=exec',
    `WorkingDirectory=${unitText(root)}`,
    ...Object.entries(environment).map(([name, value]) => `Environment=${quoted(`${name}=${value}`)}`),
    `ExecStart=${[...self, 'up'].map(argument).join(' ')}`,
    'KillMode=process',
    'Restart=on-failure',
    'RestartSec=60',
    'RestartPreventExitStatus=2 78',
    'TimeoutStopSec=120',
    '',
    '[Install]',
    `WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}`,
    '',
  ].join('\n')

const xml = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
const string = (text: string): string => `<string>${xml(text)}</string>`

/** `AbandonProcessGroup`: as `KillMode=process`. */
export const launchdAgent = (label: string, { self, root, environment }: ServiceFacts): string =>
  [
    '<?xml version="1.0" encoding="UTF-8"?>',
    '<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">',
    '<plist version="1.0"><dict>',
    `<key>Label</key>${string(label)}`,
    `<key>ProgramArguments</key><array>${[...self, 'up'].map(string).join('')}</array>`,
    `<key>WorkingDirectory</key>${string(root)}`,
    `<key>EnvironmentVariables</key><dict>${Object.entries(environment)
      .map(([name, value]) => `<key>${xml(name)}</key>${string(value)}`)
      .join('')}</dict>`,
    '<key>RunAtLoad</key><true/>',
    '<key>KeepAlive</key><dict><key>SuccessfulExit</key><false/></dict>',
    '<key>AbandonProcessGroup</key><true/>',
    '</dict></plist>',
    '',
  ].join('\n')
