import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./check.ts', import.meta.url))
