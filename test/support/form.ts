/**
 * The heavy suites have two forms: CI runs the short one, `npm run test:long` all of it. What belongs to the long form only takes long, and
 * its promise is touched by another test of the short form: see CONTRIBUTING.
 */
export const isLongForm = process.env.UNSTUCK_TESTS === 'long'

/** The cases that a form plays: the first `short` ones, or all of them. */
export const shortened = <T>(all: readonly T[], short: number): readonly T[] => (isLongForm ? all : all.slice(0, short))
