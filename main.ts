import { up } from './cli/server/up.ts'

/** `npm start`: everything on this machine, in one command. */
await up(process.argv.slice(2))
