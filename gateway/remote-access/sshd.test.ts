import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { until } from '../testing.ts'
import { newSshKey } from './ssh-testing.ts'
import { TestPlatform } from './testing.ts'

/** These tests use the server of OpenSSH as an independent peer. It accepts the key of the user that runs the tests. */

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((path) => existsSync(path))

const configuration = (folder: string, port: number) => `
ListenAddress 127.0.0.1
Port ${port}
HostKey ${join(folder, 'host-key')}
AuthorizedKeysFile ${join(folder, 'authorized-keys')}
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin prohibit-password
Subsystem sftp internal-sftp
`

describe('the server of OpenSSH', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-sshd-'))
  const pair = newSshKey()
  const { username } = userInfo()
  let server: ChildProcess | undefined
  let port = 0

  before(async () => {
    if (sshd === undefined) return
    port = await freePort()
    writeFileSync(join(folder, 'host-key'), `${newSshKey().private}\n`)
    chmodSync(join(folder, 'host-key'), 0o600)
    writeFileSync(join(folder, 'authorized-keys'), `${pair.public}\n`)
    writeFileSync(join(folder, 'sshd.conf'), configuration(folder, port))
    server = spawn(sshd, ['-D', '-e', '-f', join(folder, 'sshd.conf')], { stdio: ['ignore', 'ignore', 'pipe'] })
    let output = ''
    server.stderr?.on('data', (bytes: Buffer) => {
      output += bytes
    })
    await until(() => {
      assert.equal(server?.exitCode, null, `sshd ended: ${output}`)
      return output.includes('Server listening')
    })
  })
  after(async () => {
    if (server?.exitCode === null) {
      server.kill()
      await once(server, 'exit')
    }
    rmSync(folder, { recursive: true })
  })

  const credential = { username, private_key: pair.private }

  test('opens a terminal with its size, and returns the exit code', async (t) => {
    if (sshd === undefined) return t.skip('sshd is not installed')
    using platform = new TestPlatform(port, { credential })
    const terminal = await platform.terminal({ columns: 101, rows: 33 })
    await terminal.next('signed-in')
    terminal.stream.write('stty size; exit 7\n')
    assert.match(await terminal.rest(), /33 101/)
    assert.deepEqual(await terminal.next('exit'), { type: 'exit', code: 7 })
  })

  test('stores, lists and returns files, and replaces an existing file', async (t) => {
    if (sshd === undefined) return t.skip('sshd is not installed')
    using platform = new TestPlatform(port, { credential })
    const path = join(folder, 'firmware.bin')
    const bytes = randomBytes(5_000_000)
    for (const content of [Buffer.from('old'), bytes]) {
      const upload = await platform.open({ kind: 'file-upload', path })
      await upload.next('signed-in')
      upload.stream.end(content)
      assert.deepEqual(await upload.next('stored'), { type: 'stored', size: content.length })
    }
    assert.ok(readFileSync(path).equals(bytes))
    const list = await platform.open({ kind: 'file-list', path: folder })
    assert.match(JSON.stringify(await list.next('entries')), /"firmware\.bin","type":"file","size":5000000/)
    const download = await platform.open({ kind: 'file-download', path })
    assert.ok((await buffer(download.stream)).equals(bytes))
  })

  test('explains that it accepts no password', async (t) => {
    if (sshd === undefined) return t.skip('sshd is not installed')
    using platform = new TestPlatform(port, { credential: { username, password: 'secret' } })
    const { code, detail } = await (await platform.terminal()).refusal()
    assert.equal(code, 'authentication_failed')
    assert.match(detail, /It accepts: publickey/)
  })
})
