#!/usr/bin/env node
import { runOnNode24 } from '../tools/node24.mjs'

await runOnNode24(new URL('./millwright.ts', import.meta.url))
