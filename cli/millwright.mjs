#!/usr/bin/env node
import { runOnNode24 } from '../tools/node24.mjs'

// `millwright gateway` loads only the gateway, so that it runs on small machines. The subcommands of `millwright
// gateway` need the whole program.
const [command, next] = process.argv.slice(2)
const isGateway = command === 'gateway' && (next === undefined || /^-(?!h$|-help$)/.test(next))

await runOnNode24(new URL(isGateway ? './gateway/gateway-main.ts' : './millwright.ts', import.meta.url))
