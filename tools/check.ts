import { check, run } from './checks.ts'

/** `npm run check`: types, formatting and lint, and that the code keeps to its architecture. */
const keepsToMap = () => run(process.execPath, ['--test', '--test-reporter=dot', 'architecture.test.ts'])
process.exit((await check()) && (await keepsToMap()) ? 0 : 1)
