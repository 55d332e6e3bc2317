import { runOnNode24 } from '../tools/node24.mjs'

await runOnNode24(new URL('./bench.ts', import.meta.url))
