import { check } from './checks.ts'

/** `npm run check`: types, formatting and lint, and that the code keeps to its architecture. */
process.exit((await check()) ? 0 : 1)
