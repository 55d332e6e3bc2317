import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./record-release.ts', import.meta.url))
