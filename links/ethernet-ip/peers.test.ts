import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { startSimulator } from './simulator.ts'
import { adapter, controller, readProperties, resultsOf } from './testing.ts'

/** These tests use independent implementations of EtherNet/IP in Python. They are skipped if these are not installed. */

const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'

function startPython(args: readonly string[]) {
  const child = spawn(python, args, { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'close').catch(() => undefined)
  child.on('error', () => undefined)
  return {
    output: child.stdout,
    [Symbol.asyncDispose]: async () => {
      child.kill()
      await exited
    },
  }
}

/** Starts the server of cpppo, which selects free ports. Returns undefined if cpppo is not installed. */
async function startCpppo(host: string) {
  const child = startPython(['-u', '-m', 'cpppo.server.enip', '--no-config', '-A', '-a', `${host}:0`])
  const ports: Partial<Record<'tcp' | 'udp', string>> = {}
  for await (const line of createInterface(child.output)) {
    const [, transport, port] = /Network (TCP|UDP) Server address = \('[\d.]+', (\d+)\)/.exec(line) ?? []
    if (transport === 'TCP') ports.tcp = String(port)
    if (transport === 'UDP') ports.udp = String(port)
    const { tcp, udp } = ports
    if (tcp !== undefined && udp !== undefined) return { ...child, tcp, udp }
  }
  await child[Symbol.asyncDispose]()
  return undefined
}

describe('independent implementations', () => {
  test('the server cpppo is identified over UDP and over TCP, and answers to forwarded messages', async (t) => {
    const host = '127.0.62.1'
    await using server = await startCpppo(host)
    if (server === undefined) return t.skip('cpppo is not installed')
    for (const options of [
      { tcp: false, ports: server.udp },
      { udp: false, ports: server.tcp, slots: '0-16' },
    ]) {
      const results = await resultsOf({ range: host, options })
      assert.deepEqual([results.length, errorsIn(results)], [1, []])
      const [asset] = assetsIn(results)
      const [identifier] = JSON.parse(JSON.stringify(asset?.asset_identifiers))
      assert.deepEqual(identifier, {
        asset_identifier_type: 'ProductInstanceIdentifier',
        vendor: 'Rockwell Automation',
        article_number: '1756-L61',
        serial_number: '006C061A',
      })
      assert.match(JSON.stringify(asset?.software_components), /"version":"20.011"/)
    }
    const values = await readProperties({ address: { ip_address: host, port: Number(server.tcp), slot: 0 } })
    const details = values.ethernet_ip as Record<string, unknown>
    assert.deepEqual([details.slot, details.product_code, details.status], [0, 54, '0x3160'])
  })

  test('the client pycomm3 reads the identity and the modules of the simulator', async (t) => {
    const host = '127.0.62.2'
    await using simulator = await startSimulator({ identity: adapter, slots: { '0': controller } }, { host })
    await using client = startPython(['-u', '-c', pycomm3Client, `${host}:${simulator.port}`])
    const lines = await Array.fromAsync(createInterface(client.output))
    if (lines.length === 0) return t.skip('pycomm3 is not installed')
    const [identity, module] = lines.map((line) => JSON.parse(line))
    assert.deepEqual(identity, [
      'Rockwell Automation/Allen-Bradley',
      'Communications Adapter',
      '00c0ffee',
      '1756-EN2T/D',
    ])
    assert.deepEqual(module, [
      'Rockwell Automation/Allen-Bradley',
      'Programmable Logic Controller',
      '60a1b2c3',
      '1756-L73/B LOGIX5573',
    ])
  })
})

const pycomm3Client = `
import json, sys
from pycomm3 import CIPDriver

def show(identity):
    print(json.dumps([identity[key] for key in ("vendor", "product_type", "serial", "product_name")]))

show(CIPDriver.list_identity(sys.argv[1]))
with CIPDriver(sys.argv[1]) as driver:
    show(driver.get_module_info(0))
`
