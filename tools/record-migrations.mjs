import { runOnNode24 } from './node24.mjs'

await runOnNode24(new URL('./record-migrations.ts', import.meta.url))
