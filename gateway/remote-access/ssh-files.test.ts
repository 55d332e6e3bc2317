import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { describe, test } from 'node:test'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import type { StreamMessage } from '@millwright/api/tunnel/stream-header.ts'
import { temporaryFolder, until } from '../testing.ts'
import { fileLimits } from './ssh-files.ts'
import { passwordOnly, type SshDeviceOptions, TestSshDevice } from './ssh-testing.ts'
import { refusalOfOpening, TestPlatform, type TestStream } from './testing.ts'

/** These tests use the server of the library ssh2 as the device. Its files are in a temporary folder. */

const credential = { username: 'fitter', password: 'planted-secret' }
const authenticate = passwordOnly(credential.username, credential.password)

/**
 * Creates a folder with empty files. Tests with many files call it before the tunnel opens: the tunnel closes if its process
 * is busy for some seconds.
 */
async function folderWith(names: readonly string[]): Promise<string> {
  const folder = temporaryFolder()
  const concurrent = 100
  for (let from = 0; from < names.length; from += concurrent)
    await Promise.all(names.slice(from, from + concurrent).map((name) => writeFile(join(folder, name), '')))
  return folder
}

async function fileDevice({ folder = temporaryFolder(), ...more }: Partial<SshDeviceOptions> = {}) {
  const peer = await TestSshDevice.start({ authenticate, folder, shell: (channel) => channel.write('$ '), ...more })
  const platform = new TestPlatform(peer.port, { credential })
  return {
    folder,
    peer,
    platform,
    at: (name: string) => join(folder, name),
    download: (path: string) => platform.open({ kind: 'file-download', path }),
    /** The platform holds the bytes of an upload back until the device is ready. */
    upload: async (path: string) => {
      const upload = await platform.open({ kind: 'file-upload', path })
      await upload.next('signed-in')
      return upload
    },
    list: (path: string) => platform.open({ kind: 'file-list', path }),
    async [Symbol.asyncDispose]() {
      platform[Symbol.dispose]()
      await peer[Symbol.asyncDispose]()
    },
  }
}

/** Returns all messages with entries of a stream. */
async function listing({ stream, messages }: TestStream): Promise<StreamMessage[]> {
  assert.equal((await buffer(stream)).length, 0)
  return messages.filter(({ type }) => type === 'entries')
}

const digest = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex')

describe('files of a device', () => {
  test('lists a folder with types, sizes and times, sorted by name', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('b.log'), 'twelve bytes')
    mkdirSync(device.at('a'))
    symlinkSync(device.at('a'), device.at('link'))
    const [message, ...more] = await listing(await device.list('.'))
    assert.deepEqual(more, [])
    assert.partialDeepStrictEqual(message, {
      path: device.folder,
      isComplete: true,
      entries: [
        { name: 'a', type: 'folder' },
        { name: 'b.log', type: 'file', size: 12 },
        { name: 'link', type: 'folder' },
      ],
    })
    const [, { modified = '' } = {}] = (message?.entries ?? []) as { modified?: string }[]
    assert.ok(Math.abs(Date.parse(modified) - Date.now()) < 60_000)
  })

  test('lists an empty folder as one message without entries', async () => {
    await using device = await fileDevice()
    assert.partialDeepStrictEqual(await listing(await device.list(device.folder)), [{ entries: [], isComplete: true }])
  })

  test('sends a large folder in several messages, of which only the last one is complete', async () => {
    const names = Array.from({ length: 900 }, (_, number) => `${'n'.repeat(100)}${number}`)
    await using device = await fileDevice({ folder: await folderWith(names) })
    const messages = await listing(await device.list('.'))
    assert.ok(messages.length > 2)
    assert.deepEqual(
      messages.map(({ isComplete }) => isComplete),
      messages.map((_, index) => index === messages.length - 1),
    )
    assert.equal(messages.flatMap(({ entries }) => entries).length, 900)
    for (const message of messages) assert.ok(JSON.stringify(message).length < 64 * 1024)
  })

  test('lists at most the limit of entries, and reports that the list is not complete', onlyInLongRuns, async () => {
    const names = Array.from({ length: fileLimits.entries + 1 }, (_, number) => String(number))
    await using device = await fileDevice({ folder: await folderWith(names) })
    const messages = await listing(await device.list('.'))
    assert.equal(messages.flatMap(({ entries }) => entries).length, fileLimits.entries)
    assert.equal(messages.at(-1)?.isComplete, false)
  })

  test('downloads a file of 20 MB with its size before the bytes', onlyInLongRuns, async () => {
    await using device = await fileDevice()
    const bytes = randomBytes(20_000_000)
    writeFileSync(device.at('firmware.bin'), bytes)
    const download = await device.download(device.at('firmware.bin'))
    assert.partialDeepStrictEqual(await download.next('file'), { type: 'file', size: bytes.length })
    assert.equal(digest(await buffer(download.stream)), digest(bytes))
  })

  test('downloads an empty file', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('empty'), '')
    const download = await device.download(device.at('empty'))
    assert.equal((await buffer(download.stream)).length, 0)
    assert.partialDeepStrictEqual(await download.next('file'), { size: 0 })
  })

  test('uploads a file of 20 MB, and reports its size when it is stored', onlyInLongRuns, async () => {
    await using device = await fileDevice()
    const bytes = randomBytes(20_000_000)
    const upload = await device.upload(device.at('new.bin'))
    upload.stream.end(bytes)
    assert.deepEqual(await upload.next('stored'), { type: 'stored', size: bytes.length })
    assert.equal(digest(readFileSync(device.at('new.bin'))), digest(bytes))
    assert.deepEqual(readdirSync(device.folder), ['new.bin'])
  })

  test('replaces an existing file, also with the message "end", and stores an empty file', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('settings'), 'old')
    const upload = await device.upload(device.at('settings'))
    upload.stream.write('new settings')
    upload.stream.sendMessage({ type: 'end' })
    assert.deepEqual(await upload.next('stored'), { type: 'stored', size: 12 })
    assert.equal(readFileSync(device.at('settings'), 'utf8'), 'new settings')
    const empty = await device.upload(device.at('empty'))
    empty.stream.end()
    assert.deepEqual(await empty.next('stored'), { type: 'stored', size: 0 })
    assert.deepEqual(readdirSync(device.folder).toSorted(), ['empty', 'settings'])
  })

  test('an interrupted upload leaves the file unchanged and removes the temporary file', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('settings'), 'old')
    const upload = await device.upload(device.at('settings'))
    upload.stream.write(Buffer.alloc(100_000))
    await until(() => readdirSync(device.folder).length === 2)
    upload.stream.destroy()
    await until(() => readdirSync(device.folder).length === 1)
    assert.equal(readFileSync(device.at('settings'), 'utf8'), 'old')
  })

  for (const [kind, name, message] of [
    ['file-download', 'missing', /missing does not exist on the device/],
    ['file-download', 'folder', /folder is not a file/],
    ['file-list', 'missing', /missing does not exist on the device/],
    ['file-list', 'file', /The device reports an error for .*file: /],
    ['file-upload', 'folder', /folder is a folder. Add a file name/],
    ['file-upload', 'missing/new', /missing\/new does not exist on the device/],
    ['file-download', 'a\0b', /contains a NUL character/],
  ] as const)
    test(`${kind} of "${name.replace('\0', ' NUL ')}" ends with file_error and a clear text`, async () => {
      await using device = await fileDevice()
      mkdirSync(device.at('folder'))
      writeFileSync(device.at('file'), 'x')
      const stream = await device.platform.open({ kind, path: device.at(name) })
      const { code, detail } = await stream.refusal()
      assert.equal(code, 'file_error')
      assert.match(detail, message)
    })

  test('a file without permission ends with file_error', async (t) => {
    if (process.getuid?.() === 0) return t.skip('root can read all files')
    await using device = await fileDevice()
    writeFileSync(device.at('private'), 'x')
    chmodSync(device.at('private'), 0)
    const { code, detail } = await (await device.download(device.at('private'))).refusal()
    assert.equal(code, 'file_error')
    assert.match(detail, /does not permit this user to access/)
  })

  test('a device without SFTP ends with file_error', async () => {
    await using peer = await TestSshDevice.start({ authenticate })
    using platform = new TestPlatform(peer.port, { credential })
    const { code, detail } = await (await platform.open({ kind: 'file-list', path: '.' })).refusal()
    assert.equal(code, 'file_error')
    assert.match(detail, /did not open a file transfer \(SFTP\)/)
  })

  test('file streams and terminals of a session share one connection', async () => {
    await using device = await fileDevice()
    await (await device.platform.terminal()).readUntil('$ ')
    writeFileSync(device.at('one'), '1')
    assert.equal((await listing(await device.list('.'))).length, 1)
    assert.equal((await buffer((await device.download('one')).stream)).length, 1)
    assert.equal(device.peer.connections, 1)
    assert.equal(device.platform.credentialRequests, 1)
  })

  test('a slow reader of a download does not stop another download', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('large'), Buffer.alloc(20_000_000))
    writeFileSync(device.at('small'), 'small')
    const slow = await device.download('large')
    await slow.next('file')
    assert.equal(String(await buffer((await device.download('small')).stream)), 'small')
  })

  test('a download of a killed device ends with device_unreachable', async () => {
    await using device = await fileDevice()
    writeFileSync(device.at('large'), Buffer.alloc(20_000_000))
    const download = await device.download('large')
    await download.next('file')
    for (const socket of device.peer.sockets) socket.resetAndDestroy()
    assert.equal((await download.refusal()).code, 'device_unreachable')
  })

  test('files without a credential need a terminal that signed in', async () => {
    await using device = await fileDevice()
    using platform = new TestPlatform(device.peer.port)
    const list = () => platform.open({ kind: 'file-list', path: '.' })
    const first = await (await list()).refusal()
    assert.equal(first.code, 'not_signed_in')
    assert.match(first.detail, /Open a terminal and sign in/)
    const terminal = await platform.terminal()
    const prompt = await terminal.next('prompt')
    assert.ok(prompt)
    assert.equal((await refusalOfOpening(list())).code, 'not_signed_in')
    terminal.stream.sendMessage({ type: 'answers', answers: [credential.username] })
    await terminal.next('prompt')
    terminal.stream.sendMessage({ type: 'answers', answers: [credential.password] })
    await terminal.next('signed-in')
    assert.partialDeepStrictEqual(await listing(await list()), [{ isComplete: true }])
    // The connection stays open for a short time after the terminal has closed.
    terminal.stream.destroy()
    assert.partialDeepStrictEqual(await listing(await list()), [{ isComplete: true }])
  })
})
