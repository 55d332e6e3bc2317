import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { credential, scan, target } from './testing.ts'

/** These tests use the agent of net-snmp as an independent peer. */

const snmpd = ['/usr/sbin/snmpd', '/usr/local/sbin/snmpd'].find((path) => existsSync(path))

const configuration = (port: number) => `
agentAddress udp:127.0.0.1:${port}
rocommunity public 127.0.0.1
sysName test-agent
sysLocation Hall 3
sysContact Maintenance
createUser mill SHA-256 "auth-secret" AES "priv-secret"
rouser mill authPriv
`

const fields = {
  version: '3',
  user: 'mill',
  authProtocol: 'sha256',
  authPassword: 'auth-secret',
  privProtocol: 'aes128',
  privPassword: 'priv-secret',
}

describe('the agent of net-snmp', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-snmpd-'))
  let agent: ChildProcess | undefined
  let port = 0

  before(async () => {
    if (snmpd === undefined) return
    port = await freePort()
    writeFileSync(join(folder, 'snmpd.conf'), configuration(port))
    const environment = { ...process.env, SNMP_PERSISTENT_DIR: folder, SNMPCONFPATH: folder }
    const args = ['-f', '-Lo', '-C', '-c', join(folder, 'snmpd.conf'), '-p', join(folder, 'snmpd.pid'), '-I', '-smux']
    agent = spawn(snmpd, args, { env: environment, stdio: ['ignore', 'pipe', 'inherit'] })
    for await (const line of agent.stdout ?? []) if (String(line).includes('NET-SNMP version')) break
  })
  after(async () => {
    if (agent?.exitCode === null) {
      agent.kill()
      await once(agent, 'exit')
    }
    rmSync(folder, { recursive: true })
  })

  const found = async (change: Record<string, string> | undefined, options = {}) => {
    const credentials = change === undefined ? [] : [credential({ ...fields, ...change })]
    const targets = [target({ address: { ip_address: '127.0.0.1', port }, credentials })]
    const results = await Array.fromAsync(scan('127.0.0.1', port, { targets, options }))
    return { assets: assetsIn(results), errors: errorsIn(results) }
  }

  for (const [version, change] of [
    ['2c', undefined],
    ['3 with SHA-256 and AES', {}],
  ] as const) {
    test(`is read with version ${version}`, async (t) => {
      if (snmpd === undefined) return t.skip('snmpd is not installed')
      const { assets, errors } = await found(change)
      // A machine without a network interface that has a MAC address is read, but nothing identifies it.
      if (errors[0]?.code === 'FAILED_PRECONDITION') return assert.match(errors[0].message, /\(test-agent\)/)
      assert.deepEqual(errors, [])
      assert.equal(assets[0]?.name, 'test-agent')
      assert.match(JSON.stringify(assets[0].location), /Hall 3/)
      assert.match(JSON.stringify(assets[0].connection_points), /127\.0\.0\.1/)
    })
  }

  for (const change of [
    { user: 'other' },
    { authPassword: 'other-secret' },
    { privPassword: 'other-secret' },
    { authProtocol: 'sha' },
  ]) {
    test(`rejects another ${Object.keys(change)[0]} with UNAUTHENTICATED`, async (t) => {
      if (snmpd === undefined) return t.skip('snmpd is not installed')
      // The agent does not answer to a message that it cannot decrypt.
      const options = change.privPassword === undefined ? {} : { timeout_ms: 2_000 }
      const { assets, errors } = await found(change, options)
      assert.deepEqual(assets, [])
      assert.equal(errors[0]?.code, 'UNAUTHENTICATED')
      assert.doesNotMatch(errors[0].message, /secret/)
    })
  }
})

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}
