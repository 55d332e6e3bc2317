import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from './checks.ts'

/**
 * This process runs the test files that it receives one after the other, so that the modules of the platform are loaded
 * only once. Each file runs inside a test with the name of the file, so that the hooks of a file apply only to that
 * file. `test-report.ts` reports the results.
 */

export type Assignment = { file: string; arrangement: 'one process' | 'split' }

/** The maximum time between the last test and the end of the process. */
const endMs = 30_000

process.on('message', ({ file, arrangement }: Assignment) => {
  process.env.MILLWRIGHT_TEST_ARRANGEMENT = arrangement
  test(file, () => import(new URL(file, pathToFileURL(root)).href))
})

process.on('disconnect', () => {
  setTimeout(() => {
    console.error(`Resources are still active after the tests: ${process.getActiveResourcesInfo().join(', ')}`)
    process.exit(1)
  }, endMs).unref()
})
