import assert from 'node:assert/strict'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { isRoot, nobody } from '@millwright/cloud/platform/postgres/testing.ts'
import { plantedWord } from '@millwright/cloud/platform/testing/secrets-shown.ts'
import { databaseEnded, prepareHome, temporaryFolder } from './platform.ts'
import { type Ended, npmStart, type ProgramOptions } from './program.ts'

const folder = temporaryFolder()
after(() => folder[Symbol.dispose]())

type Case = Partial<ProgramOptions> & { title: string; expected: RegExp; args?: string[]; skip?: string | false }

const cases: Case[] = [
  {
    title: 'a setting that does not exist',
    environment: { MILLWRIGHT_PROT: '9000' },
    expected: /^Unknown setting MILLWRIGHT_PROT\. Did you mean MILLWRIGHT_PORT\?$/,
  },
  {
    title: 'a port that is not a number',
    environment: { MILLWRIGHT_PORT: 'eighty' },
    expected: /^MILLWRIGHT_PORT must be a whole number from 0 to 65535, but is "eighty"\.$/,
  },
  {
    title: 'a port of the local gateway that is not a number',
    environment: { MILLWRIGHT_GATEWAY_PROXY_PORT: 'eighty' },
    expected: /^MILLWRIGHT_GATEWAY_PROXY_PORT must be a whole number from 0 to 65535, but is "eighty"\.$/,
  },
  {
    title: 'an unknown log level',
    environment: { MILLWRIGHT_LOG_LEVEL: 'loud' },
    expected: /^MILLWRIGHT_LOG_LEVEL must be one of .*, but is "loud"\.$/,
  },
  {
    title: 'a database that is not PostgreSQL',
    environment: { DATABASE_URL: 'mysql://127.0.0.1/millwright' },
    expected: /^DATABASE_URL must be a URL that starts with postgres:\/\/ or postgresql:\/\/\.$/,
  },
  {
    title: 'a database that is not running',
    environment: { DATABASE_URL: `postgres://millwright:${plantedWord}@127.0.0.1:1/millwright` },
    expected: /^The database cannot be reached \(.*ECONNREFUSED.*\): check DATABASE_URL and that the server runs\.$/,
  },
  {
    title: 'a peer without an address',
    environment: { MILLWRIGHT_PEERS: 'identity' },
    expected: /^MILLWRIGHT_PEERS must be a list of name=url, separated by commas, but contains "identity"\.$/,
  },
  {
    title: 'a service that does not exist',
    environment: { MILLWRIGHT_SERVICES: 'identity,weather' },
    expected: /^Unknown service weather\. Services: identity, .*\.$/,
  },
  {
    title: 'an invalid master key',
    home: homeWith({ 'master.key': 'open sesame\n' }),
    expected: /^The master key in \S+master\.key is not 32 bytes in base64: restore the correct key\.$/,
  },
  {
    title: 'a home that is a file',
    home: aFile('a-file'),
    expected: /^The folder \S+a-file cannot be created \(EEXIST\): set MILLWRIGHT_HOME to another folder\.$/,
  },
  {
    title: 'a home below a file',
    home: join(aFile('another-file'), 'home'),
    expected: /^The folder \S+ cannot be created \(ENOTDIR\): set MILLWRIGHT_HOME to another folder\.$/,
  },
  {
    title: 'a home that is not writable',
    home: homeWith({}),
    owner: nobody,
    skip: !isRoot && 'needs root',
    expected: /^The (master key|home|folder) \S+ .*(EACCES|permission denied).*\.$/,
  },
  {
    title: 'data of another PostgreSQL version',
    home: homeWith({ 'postgres/data/PG_VERSION': '15\n' }),
    expected:
      /^The data in \S+ was written by PostgreSQL 15, but this version of Millwright uses PostgreSQL \d+: .*\.$/,
  },
  {
    title: 'an address of another machine',
    home: preparedHome(),
    environment: { MILLWRIGHT_HOST: '192.0.2.1' },
    expected: /^Cannot listen on 192\.0\.2\.1:0 \(EADDRNOTAVAIL\): check MILLWRIGHT_HOST and MILLWRIGHT_PORT\.$/,
  },
  {
    title: 'unexpected arguments',
    args: ['--port', '9000'],
    expected:
      /^npm start accepts no arguments, but got "--port 9000"\. Settings are environment variables; npx millwright config lists them$/,
  },
]

describe('npm start with an invalid configuration', { concurrency: 2 }, () => {
  for (const { title, expected, args = [], skip = false, home, ...options } of cases) {
    test(`prints one sentence and exits with an error for ${title}`, { skip }, async () => {
      const homeFolder = home ?? homeWith({})
      const ended = await npmStart({ home: homeFolder, ...options }, args).ended
      assertClear(ended, expected)
      await databaseEnded(homeFolder)
    })
  }

  test('prints one sentence and exits with an error for a port that is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const ended = await npmStart({ home: preparedHome(), environment: { MILLWRIGHT_PORT: String(port) } }).ended
    other.close()
    assertClear(ended, new RegExp(`^Port ${port} is in use: stop the other program, or set MILLWRIGHT_PORT .*\\.$`))
  })
})

function assertClear({ code, signal, stdout, stderr }: Ended, expected: RegExp): void {
  assert.deepEqual({ signal, stdout }, { signal: null, stdout: '' })
  assert.ok(code === 1 || code === 2, `the exit code is ${code}`)
  assert.match(stderr.trim(), expected)
  assert.doesNotMatch(stderr, /\n +at /)
  assert.ok(!stderr.includes(plantedWord), 'a password shows')
}

function homeWith(files: Record<string, string>): string {
  const home = join(folder.path, `home-${Math.random().toString(36).slice(2)}`)
  mkdirSync(home, { mode: 0o711 })
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), content)
  }
  chmodSync(home, 0o711)
  return home
}

/** Returns a home in which the platform has run before. */
function preparedHome(): string {
  const home = homeWith({})
  prepareHome(home)
  return home
}

function aFile(name: string): string {
  const file = join(folder.path, name)
  writeFileSync(file, 'not a folder')
  return file
}
