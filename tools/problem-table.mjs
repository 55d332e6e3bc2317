import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./problem-table.ts', import.meta.url))
