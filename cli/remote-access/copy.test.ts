import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, test } from 'node:test'
import type { WebSocket } from 'ws'
import { devicePath, progressText } from './copy.ts'
import { assetId, RemotePeer } from './testing.ts'

let peer: RemotePeer
let folder: string
/** The files of the device. */
let files: Map<string, Buffer>

const send = (socket: WebSocket, message: object) => socket.send(JSON.stringify(message))

function device(socket: WebSocket, query: URLSearchParams): void {
  const path = query.get('path') ?? ''
  const kind = query.get('kind')
  if (kind === 'terminal') {
    send(socket, { type: 'prompt', title: '', instructions: '', prompts: [{ text: 'User name', isSecret: false }] })
    socket.on('message', () => send(socket, { type: 'signed-in', user: 'admin' }))
  } else if (kind === 'file-download') {
    const content = files.get(path)
    if (content === undefined) {
      send(socket, { type: 'error', code: 'file_error', detail: `${path}: No such file` })
      socket.close(4000)
      return
    }
    send(socket, { type: 'file', size: content.length })
    for (let at = 0; at < content.length; at += 65_536) socket.send(content.subarray(at, at + 65_536))
    socket.close(1000)
  } else {
    const chunks: Buffer[] = []
    let isReady = false
    // The gateway signs in first. It refuses bytes that arrive before.
    setTimeout(() => {
      isReady = true
      send(socket, { type: 'signed-in', user: 'admin' })
    }, 50)
    socket.on('message', (chunk: Buffer, isBinary) => {
      if (!isReady) return socket.close(4000)
      if (isBinary) return chunks.push(chunk)
      files.set(path, Buffer.concat(chunks))
      send(socket, { type: 'stored', size: files.get(path)?.length })
      return socket.close(1000)
    })
  }
}

beforeEach(async () => {
  peer = await RemotePeer.open()
  peer.onStream = device
  folder = mkdtempSync(join(tmpdir(), 'millwright-copy-'))
  files = new Map([['/var/log/messages', Buffer.alloc(3_000_000, 'line\n')]])
})

afterEach(async () => {
  rmSync(folder, { recursive: true, force: true })
  await peer[Symbol.asyncDispose]()
})

test('copies a file from a device to a folder, after a sign-in on a terminal stream', async () => {
  const command = peer.start(['remote', 'copy', `${assetId}:/var/log/messages`, folder], { answers: ['admin'] })
  assert.equal(await command.ended, 0, command.printed.err)
  assert.match(command.printed.out, /copied to .*messages: 2\.9 MiB\n$/)
  assert.ok(readFileSync(join(folder, 'messages')).equals(files.get('/var/log/messages') ?? Buffer.alloc(0)))
  assert.equal(peer.session.state, 'ended')
})

test('copies a file to a device with a credential', async () => {
  peer.session = { ...peer.session, credentialInstanceId: assetId }
  const file = join(folder, 'drive.conf')
  writeFileSync(file, Buffer.alloc(1_000_000, 'speed=1\n'))
  const args = ['remote', 'copy', file, `${assetId}:/etc/`, '--credential', assetId, '--json']
  const command = peer.start(args)
  assert.equal(await command.ended, 0, command.printed.err)
  assert.deepEqual(JSON.parse(command.printed.out).data, {
    from: file,
    to: `${assetId}:/etc/drive.conf`,
    bytes: 1_000_000,
  })
  assert.equal(files.get('/etc/drive.conf')?.length, 1_000_000)
})

test('creates no file and prints the reason when the file does not exist on the device', async () => {
  peer.session = { ...peer.session, credentialInstanceId: assetId }
  const file = join(folder, 'missing')
  const command = peer.start(['remote', 'copy', `${assetId}:/missing`, file, '--credential', assetId])
  assert.equal(await command.ended, 1)
  assert.match(command.printed.err, /\/missing: No such file/)
  assert.ok(!existsSync(file) && !existsSync(`${file}.part`))
})

test('keeps the existing file when the download is incomplete', async () => {
  peer.session = { ...peer.session, credentialInstanceId: assetId }
  peer.onStream = (socket) => {
    send(socket, { type: 'file', size: 100 })
    socket.send(Buffer.from('half'))
    socket.close(1000)
  }
  const file = join(folder, 'log')
  writeFileSync(file, 'before')
  const command = peer.start(['remote', 'copy', `${assetId}:/log`, file, '--credential', assetId])
  assert.equal(await command.ended, 1)
  assert.match(command.printed.err, /The file is incomplete: 4 of 100 bytes arrived\./)
  assert.equal(readFileSync(file, 'utf8'), 'before')
})

test('requires exactly one path on a device', async () => {
  for (const paths of [
    ['a.txt', 'b.txt'],
    ['PLC:/a', 'PLC:/b'],
  ]) {
    const command = peer.start(['remote', 'copy', ...paths])
    assert.equal(await command.ended, 2)
    assert.match(command.printed.err, /Exactly one of the two must be a path on a device/)
  }
  assert.deepEqual(peer.requests, [])
})

test('a path on a device is an asset, a colon and a path', () => {
  assert.deepEqual(devicePath('Drive 12:/etc/x:y'), { asset: 'Drive 12', path: '/etc/x:y' })
  for (const local of ['file', './a:b', '/tmp/a:b', 'C:\\file', ':x']) assert.equal(devicePath(local), undefined, local)
})

test('the progress has percent, sizes and rate', () => {
  assert.equal(progressText(1_048_576, 4_194_304, 2), '25 %: 1.0 MiB of 4.0 MiB, 512 KiB/s')
  assert.equal(progressText(10, undefined, 0), '10 bytes')
})
