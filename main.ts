import { up } from './cli/server/up.ts'

/** `npm start`: runs all parts of the product on this machine. */
await up(process.argv.slice(2))
