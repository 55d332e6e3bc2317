import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, test } from 'node:test'
import bacnetClient, { ApplicationTag, type BACNetAddress } from '@bacnet-js/client'
import { assetsIn, errorsIn } from '@millwright/link-sdk/testing/loopback.ts'
import { startSimulator } from './simulator.ts'
import { controller, read, resultsOf } from './testing.ts'

/** These tests use independent implementations as peers of the link and of its simulator. */

// The package is a CommonJS module, so its default export is a field of the imported object.
const { default: BacnetClient } = bacnetClient
type Client = InstanceType<typeof BacnetClient>

const host = '127.0.67.1'
const device = { type: 8, instance: 4_711 }

const text = (value: string) => ({ type: ApplicationTag.CHARACTER_STRING, value })
const properties: Readonly<Record<number, { type: number; value: string | number }>> = {
  121: text('Beckhoff Automation GmbH & Co. KG'),
  120: { type: ApplicationTag.UNSIGNED_INTEGER, value: 415 },
  70: text('CX9020'),
  44: text('3.1.4024'),
  12: text('4.0'),
  77: text('Gebäude 7'),
  28: text('Lüftung'),
  58: text('Keller'),
  372: text('B-0042'),
  98: { type: ApplicationTag.UNSIGNED_INTEGER, value: 1 },
  139: { type: ApplicationTag.UNSIGNED_INTEGER, value: 22 },
  112: { type: ApplicationTag.ENUMERATED, value: 0 },
}
const unknownProperty = [2, 32] as const

/** Starts the package as a device, and records the requests that it received. */
async function startDevice({ multiple = true } = {}) {
  const port = await freePort()
  const client = new BacnetClient({ interface: host, port, broadcastAddress: host })
  const requests: string[] = []
  const senderOf = ({ header }: { header?: { sender: BACNetAddress } }) => header?.sender ?? {}
  client.on('whoIs', (content) => {
    requests.push('whoIs')
    client.iAmResponse(senderOf(content), device.instance, 3, 415)
  })
  client.on('readProperty', (content) => {
    const { id } = content.payload.property
    requests.push(`readProperty ${id}`)
    const value = properties[id]
    const [receiver, invokeId = 0] = [senderOf(content), content.invokeId]
    if (value === undefined) client.errorResponse(receiver, 12, invokeId, ...unknownProperty)
    else client.readPropertyResponse(receiver, invokeId, device, content.payload.property, [value as never])
  })
  client.on('readPropertyMultiple', (content) => {
    requests.push('readPropertyMultiple')
    const [receiver, invokeId = 0] = [senderOf(content), content.invokeId]
    const requested = content.payload.properties[0]?.properties ?? []
    if (!multiple) client.errorResponse(receiver, 14, invokeId, 5, 29)
    else
      client.readPropertyMultipleResponse(receiver, invokeId, [
        { objectId: device, values: requested.map((property) => ({ property, value: [properties[property.id]] })) },
      ])
  })
  client.on('error', () => undefined)
  await once(client as never, 'listening')
  return { port, requests, [Symbol.dispose]: () => client.close() }
}

async function freePort(): Promise<number> {
  const socket = createSocket('udp4').bind(0, host)
  await once(socket, 'listening')
  const { port } = socket.address()
  socket.close()
  await once(socket, 'close')
  return port
}

describe('the package @bacnet-js/client', () => {
  test('as a device is found and read with one request', async () => {
    using peer = await startDevice()
    const results = await resultsOf({ range: host, options: { ports: String(peer.port) } })
    assert.deepEqual(errorsIn(results), [])
    const [asset] = assetsIn(results)
    assert.equal(asset?.name, 'Gebäude 7')
    assert.match(JSON.stringify(asset?.asset_identifiers), /"Beckhoff".*"CX9020".*"B-0042"/)
    assert.deepEqual(peer.requests, ['whoIs', 'readPropertyMultiple'])
  })

  test('as a device without ReadPropertyMultiple is read with single requests', async () => {
    using peer = await startDevice({ multiple: false })
    const { bacnet } = await read({ address: { ip_address: host, port: peer.port, device_instance: 4_711 } })
    assert.deepEqual(bacnet, {
      device_instance: 4_711,
      object_name: 'Gebäude 7',
      description: 'Lüftung',
      location: 'Keller',
      vendor_name: 'Beckhoff Automation GmbH & Co. KG',
      vendor_id: 415,
      model_name: 'CX9020',
      serial_number: 'B-0042',
      firmware_revision: '3.1.4024',
      application_software_version: '4.0',
      protocol_version: 1,
      protocol_revision: 22,
      system_status: 'operational',
    })
    assert.equal(peer.requests.filter((request) => request.startsWith('readProperty ')).length, 12)
  })

  test('as a client reads the simulator of the link', async () => {
    await using simulator = await startSimulator(controller, { host: '127.0.67.2' })
    const client: Client = new BacnetClient({ interface: host, port: await freePort(), broadcastAddress: host })
    try {
      await once(client as never, 'listening')
      const address = { address: `127.0.67.2:${simulator.port}` }
      const answered = once(client as never, 'iAm')
      client.whoIs(address)
      const [{ payload }] = await answered
      assert.deepEqual([payload.deviceId, payload.vendorId, payload.maxApdu], [1_234, 7, 1_476])
      const { values } = await client.readProperty(address, { type: 8, instance: 1_234 }, 77)
      assert.equal(values[0]?.value, 'AHU 3')
      const requested = [
        {
          objectId: { type: 8, instance: 4_194_303 },
          properties: [70, 372].map((id) => ({ id, index: 4_294_967_295 })),
        },
      ]
      const multiple = await client.readPropertyMultiple(address, requested)
      assert.match(JSON.stringify(multiple.values), /PXC4\.E16.*SN-0815/)
    } finally {
      client.close()
    }
  })
})

test('the package bacpypes3 as a device and BBMD is read, and has no foreign device after the scan', async (t) => {
  const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
  const port = await freePort()
  const script = join(import.meta.dirname, 'bacpypes-peer.py')
  const child = spawn(python, [script, `127.0.68.1/24:${port}`], { stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = once(child, 'close').catch(() => undefined)
  child.on('error', () => undefined)
  const lines: string[] = []
  const reader = createInterface(child.stdout).on('line', (line) => lines.push(line))
  try {
    await Promise.race([once(reader, 'line'), exited])
    if (lines[0] !== 'ready') return t.skip('bacpypes3 is not installed')
    for (const options of [{}, { routers: true }, { bbmd: `127.0.68.1:${port}` }]) {
      const results = await resultsOf({ range: '127.0.68.1', options: { ports: String(port), ...options } })
      assert.deepEqual(errorsIn(results), [])
      assert.equal(assetsIn(results)[0]?.name, 'Hall 5')
      assert.match(JSON.stringify(assetsIn(results)[0]?.asset_identifiers), /"Acme".*"BP-3".*"BP-77"/)
    }
    while (lines.length < 3 && child.exitCode === null) await once(reader, 'line')
    assert.deepEqual(lines, ['ready', '1', '0'], 'one foreign device, and none after the scan')
  } finally {
    child.kill()
    await exited
  }
})
