#!/usr/bin/env node
import { runOnNode24 } from '../tools/node24.mjs'

// A gateway runs on small machines, where the rest is not even loaded; a second word is a command about gateways.
const [command, next] = process.argv.slice(2)
const isGateway = command === 'gateway' && (next === undefined || /^-(?!h$|-help$)/.test(next))

await runOnNode24(new URL(isGateway ? './gateway/gateway-main.ts' : './millwright.ts', import.meta.url))
