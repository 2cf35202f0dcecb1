/** `unstuck notify`: sends a test over the configured channels, lists what was sent, and sends again what was given up. */
import { Option } from 'commander'
import { channelNames, type ChannelName } from '../../domain/notification.ts'
import { jsonOption, type JsonOption, type Register } from '../command-options.ts'

export const register: Register = (program, act) => {
  const notify = program
    .command('notify')
    .description('try the channels for notifications (webhook, ntfy, desktop), list what was sent, or send it again')
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
  notify
    .command('retry')
    .description('send again, at once and with ten new attempts, what could not be delivered and was given up')
    .argument(
      '[id]',
      'only this notification, as "unstuck notify list" names it (default: all of the last day and of open questions)',
    )
    .option(...jsonOption)
    .action((id: string | undefined, options: JsonOption) =>
      act(async (io) => (await import('../notify.ts')).notifyRetryCommand(io, id, options)),
    )
}
