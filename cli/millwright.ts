import { run } from './program.ts'
import { processTerminal } from './terminal.ts'

const code = await run(process.argv.slice(2), processTerminal())
if (code !== 0) process.exitCode = code
