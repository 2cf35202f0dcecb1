/** How often a property test tries: a tenth of the runs while somebody works, all of them in CI. */
export const samples = (all: number): number => (process.env['CI'] === undefined ? Math.ceil(all / 10) : all)
