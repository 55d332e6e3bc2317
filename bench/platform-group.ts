import { createServer } from 'node:net'
import { join } from 'node:path'
import { attachPostgres } from '@millwright/cloud/platform/postgres/postgres.ts'
import { embeddedOwner } from '@millwright/cloud/start.ts'
import { type PlatformProcess, startPlatform } from './platform-process.ts'

/** The connections of each process. The embedded server allows 60 in total. */
const connections = '8'

export const groupEnvironment = { MILLWRIGHT_DATABASE_CONNECTIONS: connections } as const

/**
 * Starts a further platform process on the database of the first one. Both have the same master key and the same base
 * URL, and each has its own address.
 */
export async function startFurther(first: { url: string; home: string }, home: string): Promise<PlatformProcess> {
  const port = await freePort()
  const platform = await startPlatform({
    home,
    environment: {
      ...groupEnvironment,
      DATABASE_URL: databaseUrl(first.home),
      MILLWRIGHT_MASTER_KEY_FILE: join(first.home, 'master.key'),
      MILLWRIGHT_BASE_URL: first.url,
      MILLWRIGHT_PORT: String(port),
    },
  })
  return { ...platform, url: `http://127.0.0.1:${port}` }
}

function databaseUrl(home: string): string {
  const connection = attachPostgres({ home })
  if (connection === undefined) throw new Error('The database server of the first process is not running')
  const { host, port, user, database } = { ...connection, ...embeddedOwner(connection) }
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host ?? '')}&port=${port}`
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0))
    })
  })
}
