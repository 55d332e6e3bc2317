import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from './checks.ts'

/**
 * Runs test files one after the other in one process, as they are sent: what a hub costs to load is paid once. Each
 * file is a test of that name, so that its hooks are its own. What happened is told by `test-report.ts`.
 */

export type Assignment = { file: string; arrangement: 'one process' | 'split' }

/** How long the process may take to end after its last test. */
const endMs = 30_000

process.on('message', ({ file, arrangement }: Assignment) => {
  process.env.MILLWRIGHT_TEST_ARRANGEMENT = arrangement
  const url = new URL(file, pathToFileURL(root))
  // Under another address, because a module is only run once.
  if (arrangement === 'split') url.searchParams.set('arrangement', arrangement)
  test(file, () => import(url.href))
})

process.on('disconnect', () => {
  setTimeout(() => {
    console.error(`Something still runs after the tests: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, endMs).unref()
})
