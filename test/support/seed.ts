/**
 * Property tests begin from one seed, so that a run of CI says of a change what it says the next time. FC_SEED sets another
 * one, and FC_SEED=random none: that is how they look for what nobody has seen yet.
 */
import fc from 'fast-check'
import { samples } from './samples.ts'

const { FC_SEED = '20261121' } = process.env
fc.configureGlobal({ numRuns: samples(100), ...(FC_SEED === 'random' ? {} : { seed: Number(FC_SEED) }) })
