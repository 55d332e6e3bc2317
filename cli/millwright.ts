import { processTerminal } from './output/terminal.ts'
import { run } from './program/program.ts'

const code = await run(process.argv.slice(2), processTerminal())
if (code !== 0) process.exitCode = code
