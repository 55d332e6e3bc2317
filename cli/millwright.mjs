#!/usr/bin/env node
import { existsSync } from 'node:fs'
import { runOnNode24 } from '../tools/node24.mjs'

// `millwright gateway` loads only the gateway, so that it runs on small machines. The subcommands of `millwright
// gateway` need the whole program. The gateway package does not contain it.
const program = new URL('./millwright.ts', import.meta.url)
const [command, next] = process.argv.slice(2)
const isGateway = command === 'gateway' && (next === undefined || /^-(?!h$|-help$)/.test(next))

await runOnNode24(isGateway || !existsSync(program) ? new URL('./gateway/gateway-main.ts', import.meta.url) : program)
