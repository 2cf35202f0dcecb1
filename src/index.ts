/** What the package exports: the types of the API and the table of errors. Programs control an engine through its API. */
export type * from './api/contract.ts'
export { AppError, errorTable, exitCodes, type ErrorCode } from './errors.ts'
