import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./generate-protocol.ts', import.meta.url))
