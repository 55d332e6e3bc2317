import { runOnNode24 } from '../tools/node24.mjs'

await runOnNode24(new URL('./sizing.ts', import.meta.url))
