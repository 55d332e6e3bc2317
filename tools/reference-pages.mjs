import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./reference-pages.ts', import.meta.url))
