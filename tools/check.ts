import { check, run } from './checks.ts'

/** `npm run check` checks types, formatting, lint, plain language, and the rules of the architecture. */
const followsArchitecture = () => run(process.execPath, ['--test', '--test-reporter=dot', 'architecture.test.ts'])
process.exit((await check()) && (await followsArchitecture()) ? 0 : 1)
