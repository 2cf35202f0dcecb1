/** The events about recovery commands that agents propose. Names and fields are a format that other programs read. */
import { payloadText, type EventTypes } from './event-text.ts'

export const proposalEvents: EventTypes = {
  recovery_proposed: {
    meaning: 'an agent proposed a command against a problem of the environment',
    sentence: (p) =>
      `proposed: \`${payloadText(p, 'command')}\` (${payloadText(p, 'category')}, confidence ${payloadText(p, 'confidence')})`,
  },
  recovery_approved: {
    meaning:
      'a proposed command may run: the owner listed it (`auto`), allowed unknown ones (`on_unknown`), or a person approved it (`human`)',
    sentence: (p) =>
      `\`${payloadText(p, 'command')}\` was approved ${p.source === 'human' ? 'by a person' : `by the configuration (${payloadText(p, 'source')})`}`,
  },
  recovery_executed: {
    meaning: 'a proposed command ran and exited with 0',
    sentence: (p) => `\`${payloadText(p, 'command')}\` ran (${Math.round(Number(p.duration_ms) / 1000)} s)`,
  },
  recovery_failed: {
    meaning: 'a proposed command failed, or the failed check fails as before it',
    sentence: (p) => `\`${payloadText(p, 'command')}\` did not help: ${payloadText(p, 'error')}`,
  },
  recovery_escalated: {
    meaning: 'a person is asked about a proposed command',
    sentence: (p) => `a person is asked about the proposed command: ${payloadText(p, 'reason')}`,
  },
  recovery_resolved: {
    meaning: 'a proposed command was decided or is no longer needed',
    sentence: (p) =>
      `the proposed command was resolved by ${payloadText(p, 'by')} (${payloadText(p, 'method')})${payloadText(p, 'note') === '' ? '' : `: ${payloadText(p, 'note')}`}`,
  },
}
