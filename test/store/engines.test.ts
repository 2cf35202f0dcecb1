/** Engines, lanes, areas and leadership on the embedded store. */
import { describe, inject } from 'vitest'
import { openPglite } from '../../src/store/pglite.ts'
import { loadTemplate } from '../../src/store/template.ts'
import { exerciseEngines } from './exercise-engines.ts'

describe('PGlite', () =>
  exerciseEngines(async () => openPglite({ dataDir: null, template: await loadTemplate(inject('storeCache')) })))
