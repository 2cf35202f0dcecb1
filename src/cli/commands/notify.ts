/** `unstuck notify`: sends a test over the configured channels, and lists what was told. */
import { Option } from 'commander'
import { channelNames, type ChannelName } from '../../domain/notification.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  const notify = program
    .command('notify')
    .description('send a test notification, or list what was told over webhook, ntfy and desktop')
    .showSuggestionAfterError()
  notify
    .command('test')
    .description('send a test over each configured channel and show the result')
    .addOption(new Option('--channel <name>', 'only this channel').choices([...channelNames]))
    .option(...jsonOption)
    .action((options: JsonOption & { channel?: ChannelName }) =>
      act(async (io) => (await import('../notify.ts')).notifyTestCommand(io, options)),
    )
  notify
    .command('list')
    .description('list the newest notifications with the state of their delivery')
    .option('--limit <count>', 'show this many, newest first (default: 20)')
    .option(...jsonOption)
    .action((options: JsonOption & { limit?: string }) =>
      act(async (io) => (await import('../notify.ts')).notifyListCommand(io, options)),
    )
}
