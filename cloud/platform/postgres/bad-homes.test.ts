import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { StartError } from '../start-error.ts'
import { startPostgres } from './postgres.ts'
import { socketFolders } from './socket-folder.ts'
import { isRoot, nobody, quick, refusal, temporaryFolder } from './testing.ts'

const settings = quick
const folder = temporaryFolder()
const mountNamespace = ['unshare', '--mount', ...(isRoot ? [] : ['--user', '--map-root-user'])]
after(() => folder[Symbol.dispose]())

function homeWith(name: string, files: Record<string, string>): string {
  const home = path.join(folder.path, name)
  const data = path.join(home, 'postgres', 'data')
  mkdirSync(data, { recursive: true })
  for (const [file, content] of Object.entries(files)) writeFileSync(path.join(data, file), content)
  return realpathSync(home)
}

async function sentence(start: Promise<unknown>): Promise<string> {
  const error = await start.then(
    () => assert.fail('it started'),
    (reason: unknown) => reason,
  )
  assert.ok(error instanceof StartError, String(error))
  assert.equal(error.exitCode, 1)
  assert.doesNotMatch(error.message, /\n/)
  return error.message
}

test('refuses data of another PostgreSQL version', async () => {
  const home = homeWith('old', { PG_VERSION: '15\n' })
  assert.match(
    await sentence(startPostgres({ home })),
    /was written by PostgreSQL 15, but this version of Millwright uses PostgreSQL 18/,
  )
})

test('refuses a data folder that contains files but no database', async () => {
  const home = homeWith('strange', { 'letter.txt': 'dear reader' })
  assert.match(await sentence(startPostgres({ home })), /contains files but no PostgreSQL data/)
  assert.match(await sentence(startPostgres({ home })), /contains files/, 'the home is free again')
})

test('refuses a home that is a file', async () => {
  const home = path.join(folder.path, 'file')
  writeFileSync(home, '')
  assert.match(await sentence(startPostgres({ home })), /^The home .*file cannot be used: /)
})

test('reports damaged data and unknown settings with the message of the server', async () => {
  const home = homeWith('broken', { PG_VERSION: '18\n' })
  chmodSync(path.join(home, 'postgres', 'data'), 0o700)
  assert.match(
    await sentence(startPostgres({ home })),
    /^PostgreSQL did not start: .*postgresql\.conf.* \(log: .*postgres\.log\)\.$/,
  )
  const other = path.join(folder.path, 'settings')
  assert.match(
    await sentence(startPostgres({ home: other, settings: { ...settings, no_such: 1 } })),
    /did not start: .*no_such/,
  )
})

test('refuses a socket folder that another user could have created', async () => {
  const home = homeWith('watched', {})
  const [socketFolder = ''] = socketFolders(home, os.tmpdir())
  mkdirSync(socketFolder, { mode: 0o755 })
  try {
    assert.match(
      await sentence(startPostgres({ home, settings })),
      /is not safe: other users can enter it \(mode 755\)/,
    )
  } finally {
    spawnSync('rmdir', [socketFolder])
  }
  symlinkSync(folder.path, socketFolder)
  try {
    assert.match(await sentence(startPostgres({ home, settings })), /is not safe: it is not a folder/)
  } finally {
    spawnSync('rm', [socketFolder])
  }
})

test('reports a home that an ordinary user cannot write to', { skip: !isRoot && 'needs root' }, async () => {
  const home = homeWith('locked', {})
  const { code, message } = await refusal({ home }, { owner: nobody })
  assert.equal(code, 1)
  assert.match(message, /^StartError: .*(cannot be written|cannot be used|cannot be read): .*permission denied/i)
})

test('reports a full disk when the server starts', {
  skip: !canMount() && 'needs to mount a file system',
}, async () => {
  const home = path.join(folder.path, 'small')
  mkdirSync(home)
  const mounted = (bytes: number) => ({
    wrapper: [
      ...mountNamespace,
      'sh',
      '-c',
      `mount -t tmpfs -o size=${bytes},mode=755 small "$1" && shift && exec "$@"`,
      'sh',
      home,
    ],
  })
  const { code, message } = await refusal({ home }, mounted(5_000_000))
  assert.equal(code, 1)
  assert.match(message, /^StartError: PostgreSQL could not create its data folder .*: .*No space left on device\.$/)
})

function canMount(): boolean {
  const [program = '', ...flags] = mountNamespace
  return spawnSync(program, [...flags, 'mount', '-t', 'tmpfs', 'small', '/mnt']).status === 0
}
