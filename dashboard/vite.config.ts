/** Builds the dashboard. Every file is named after its content, and nothing is inlined, because the page's policy forbids it. */
import { defineConfig } from 'vite'

/** The dashboard uses constants of these files; marking them free of side effects keeps the schemas out of the bundle. */
const engine = /\/src\/(api\/contract|domain\/\w+)\.ts$/

export default defineConfig({
  root: import.meta.dirname,
  base: './',
  publicDir: false,
  build: {
    target: ['chrome125', 'firefox128', 'safari17.5'],
    emptyOutDir: true,
    assetsInlineLimit: 0,
    modulePreload: false,
    license: { fileName: 'licences.md' },
    rolldownOptions: {
      treeshake: { moduleSideEffects: (id) => !engine.test(id) },
      // "use client" is for servers that render pages; there is none here.
      onLog: (level, log, pass) => {
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') pass(level, log)
      },
    },
  },
})
