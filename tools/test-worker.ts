import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { root } from './checks.ts'
import { trackPromises } from './test-hook.ts'

/**
 * This process runs the test files that it receives one after the other, so that the modules of the platform are loaded
 * only once. Each file runs inside a test with the name of the file, so that the hooks of a file apply only to that
 * file. `test-report.ts` reports the results.
 */

export type Assignment = { file: string; arrangement: 'one process' | 'split' }

type Handle = {
  type: string
  address: string
  is_active: boolean
  is_referenced: boolean
  localEndpoint?: { port?: number }
  remoteEndpoint?: { port?: number }
  pid?: number
}

/**
 * The maximum time between the last test and the end of the process. If handles are still open then, the process prints
 * them and ends. It also prints the resources of Node, because timers have no handle. The results of the tests decide the
 * exit code.
 */
const endMs = 30_000

// Without this option, a report looks up the host names of all connections.
Object.assign(process.report, { excludeNetwork: true })

/** The test file after which each open handle was seen first. */
const openSince = new Map<string, string>()

/** The errors that no code handled while the current file ran. The file fails because of them. */
let unhandled: unknown[] = []

process.on('message', ({ file, arrangement }: Assignment) => {
  process.env.MILLWRIGHT_TEST_ARRANGEMENT = arrangement
  unhandled = []
  trackPromises(true)
  test(file, async (t) => {
    t.after(() => {
      recordOpen(file)
      if (unhandled.length > 0) throw new AggregateError(unhandled, 'Errors that no code handled')
    })
    await import(new URL(file, pathToFileURL(root)).href)
    trackPromises(false)
  })
})

// The test runner does not know the tests of these errors, because it does not track their promises.
for (const event of ['uncaughtException', 'unhandledRejection']) process.on(event, (error) => unhandled.push(error))

process.on('disconnect', () => {
  setTimeout(() => {
    const resources = `  resources of Node: ${process.getActiveResourcesInfo().join(', ')}`
    const handles = [...openHandles().map(described), resources]
    console.error(`Handles are still open after the tests:\n${handles.join('\n')}`)
    process.exit()
  }, endMs).unref()
})

function recordOpen(file: string): void {
  const open = openHandles().map(({ address }) => address)
  for (const address of openSince.keys()) if (!open.includes(address)) openSince.delete(address)
  for (const address of open) if (!openSince.has(address)) openSince.set(address, file)
}

/** Returns the handles that keep this process alive. */
function openHandles(): Handle[] {
  const { libuv } = process.report.getReport() as unknown as { libuv: Handle[] }
  return libuv.filter((handle) => handle.is_active && handle.is_referenced)
}

function described({ type, address, localEndpoint, remoteEndpoint, pid }: Handle): string {
  const ports = [localEndpoint?.port, remoteEndpoint?.port].map((port) => port ?? 'none')
  const where = type === 'tcp' ? `, ports ${ports.join(' and ')}` : pid === undefined ? '' : `, process ${pid}`
  return `  ${type}${where}, first seen after ${openSince.get(address) ?? 'the last file'}`
}
