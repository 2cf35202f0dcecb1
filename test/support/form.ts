/**
 * The heavy suites have two forms: CI runs the short one, `npm run test:long` all of it. What belongs to the long form only takes long, and
 * its promise is touched by another test of the short form: see CONTRIBUTING.
 */
export const isLongForm = process.env.UNSTUCK_TESTS === 'long'
