import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./language-check.ts', import.meta.url))
