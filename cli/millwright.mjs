#!/usr/bin/env node
import { runOnNode24 } from '../tools/node24.mjs'

const entry = process.argv[2] === 'gateway' ? './gateway-main.ts' : './millwright.ts'

await runOnNode24(new URL(entry, import.meta.url))
