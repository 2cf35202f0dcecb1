/**
 * Property tests begin from one seed, so that a run of CI says of a change what it says the next time. FC_SEED sets another
 * one, and FC_SEED=random none: that is how they look for what nobody has seen yet.
 */
import fc from 'fast-check'

const { FC_SEED = '20261121' } = process.env
if (FC_SEED !== 'random') fc.configureGlobal({ seed: Number(FC_SEED) })
