import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./test.ts', import.meta.url))
