/** The meaning of a signal or a bare exit status, for commands whose output does not name the cause. */
import type { Label } from './labels.ts'

const signals: Record<string, Label> = {
  SIGKILL: 'out_of_memory',
  SIGTERM: 'timeout',
  SIGSEGV: 'runtime_error',
  SIGABRT: 'runtime_error',
  SIGBUS: 'runtime_error',
  SIGFPE: 'runtime_error',
  SIGILL: 'runtime_version',
  SIGXFSZ: 'resource_limit',
  SIGXCPU: 'resource_limit',
  SIGALRM: 'timeout',
  SIGSYS: 'runtime_error',
  SIGTRAP: 'runtime_error',
}

/** Exit statuses with one meaning (POSIX shells, coreutils `timeout`, 128 + signal). */
const statuses: Record<number, Label> = {
  124: 'timeout',
  126: 'permission_denied',
  127: 'command_not_found',
  132: 'runtime_version',
  134: 'runtime_error',
  135: 'runtime_error',
  136: 'runtime_error',
  137: 'out_of_memory',
  139: 'runtime_error',
  142: 'timeout',
  143: 'timeout',
  152: 'resource_limit',
  153: 'resource_limit',
}

/** Programs that may fail silently with a specific status (see "exit status" in their manuals). */
const ownStatuses: Record<string, Record<number, Label>> = {
  curl: {
    5: 'network_unreachable',
    6: 'network_unreachable',
    7: 'service_unavailable',
    28: 'network_transient',
    35: 'network_unreachable',
    52: 'network_transient',
    56: 'network_transient',
    60: 'network_unreachable',
    67: 'auth_failure',
  },
  wget: { 4: 'network_unreachable', 5: 'network_unreachable', 6: 'auth_failure' },
  pytest: { 4: 'invalid_usage', 5: 'no_test_files' },
}

export const labelOfSignal = (signal: string): Label | undefined => signals[signal]

/** `program`: the program that exited. */
export const labelOfStatus = (status: number, program: string): Label | undefined =>
  statuses[status] ?? ownStatuses[program]?.[status]
