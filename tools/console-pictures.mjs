import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('../e2e/console-pictures.ts', import.meta.url))
