import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./workflow-pictures.ts', import.meta.url))
