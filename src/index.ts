/** What the package offers to programs: the wire contract and the error table. The engine itself is reached through its API. */
export type * from './api/contract.ts'
export { AppError, errorTable, exitCodes, type ErrorCode } from './errors.ts'
