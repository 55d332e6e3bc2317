import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { type TestHub, testHub } from '../testing/hub.ts'
import { inspectServer } from './binding.ts'
import { Database } from './database.ts'
import { statement } from './statement.ts'

/** The path of PgBouncer. The test runs only if PgBouncer is installed on this machine. */
const program = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer', '/usr/local/bin/pgbouncer'].find(isExecutable)
const skip =
  program === undefined
    ? 'pgbouncer is not installed on this machine'
    : process.env.MILLWRIGHT_TEST_DATABASE_URL !== undefined && 'needs a server of its own'

const bound = statement<{ tenant: string; asked: string }>(
  `select current_setting('app.tenant', true) as tenant, $1 as asked`,
)
const groups = statement<{ name: string }>('select name from access_groups where tenant_id = $1')

test('detects a transaction pooler and sets the tenant in each transaction', {
  skip,
}, async () => {
  await using hub = await testHub()
  await using pooler = await startPooler(program ?? '', hub)
  const server = await inspectServer(pooler.address, 'auto')
  assert.deepEqual([server.pooled, server.binding], [true, 'transaction'])

  const other = await hub.anotherTenant()
  const database = new Database({ address: pooler.address, server, connections: 8 })
  const looks = Array.from({ length: 100 }, async (_, i) => {
    const tenant = i % 2 === 0 ? hub.tenant : other
    const seen = await database.transaction(tenant, (tx) => tx.row(bound))
    assert.deepEqual(seen, { tenant: tenant.tenantId, asked: tenant.tenantId })
    assert.equal((await database.read(tenant, (handle) => handle.rows(groups))).length, 1)
  })
  await Promise.all(looks)
  await database.close()
})

test('detects a direct connection to the database server', async () => {
  await using hub = await testHub()
  const seen = await inspectServer(hub.database.app, 'auto')
  assert.equal(seen.binding, seen.citus || seen.pooled ? 'transaction' : 'session')
  assert.equal((await inspectServer(hub.database.app, 'transaction')).binding, 'transaction')
})

async function startPooler(path: string, hub: TestHub) {
  const app = hub.database.app
  if ('url' in app) throw new TypeError('This test needs the server of the test kit')
  const folder = await mkdtemp(join(tmpdir(), 'millwright-pooler-'))
  const port = await freePort()
  const configuration = [
    '[databases]',
    `${app.database} = host=${app.host} port=${app.port} user=${app.user} dbname=${app.database}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = any',
    'pool_mode = transaction',
    'default_pool_size = 2',
  ]
  await writeFile(join(folder, 'pooler.ini'), configuration.join('\n'))
  // PgBouncer does not run as root. If the test runs as root, PgBouncer runs in a user namespace, so that it can use
  // the socket of the test server, which belongs to root.
  const apart = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000', '--map-group=1000'] : []
  const [command = path, ...given] = [...apart, path, join(folder, 'pooler.ini')]
  const child = spawn(command, given, { stdio: ['ignore', 'ignore', 'pipe'] })
  const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said += text
    if (said.includes('process up')) resolve()
  })
  child.on('exit', () => reject(new Error(`pgbouncer ended: ${said}`)))
  await ready
  return {
    address: { host: '127.0.0.1', port, user: app.user, database: app.database },
    async [Symbol.asyncDispose]() {
      child.removeAllListeners('exit')
      const exited = new Promise((done) => child.once('exit', done))
      child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true })
    },
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
