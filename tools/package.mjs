import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./package.ts', import.meta.url))
