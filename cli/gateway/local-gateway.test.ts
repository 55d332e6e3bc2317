import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { gatewayVariables, linkVariables } from '@millwright/cloud/settings.ts'
import { startGateway } from '@millwright/gateway/gateway.ts'
import { type GatewaySettings, gatewaySettings } from '@millwright/gateway/settings.ts'
import { settingsFor, TestCloud, temporaryFolder } from '@millwright/gateway/testing.ts'
import { helpFor } from '@millwright/link-sdk/settings.ts'
import { run } from '../program/program.ts'
import { testTerminal } from '../testing.ts'
import { publishPorts, startOnFreePorts } from './local-gateway.ts'

async function millwright(args: string[], environment: Record<string, string>) {
  const { terminal, printed } = testTerminal({ environment })
  const code = await run(args, terminal)
  return { code, ...printed }
}

describe('the ports of a local gateway', () => {
  const other = createServer()
  let cloud: TestCloud
  let taken: number
  before(async () => {
    cloud = await TestCloud.start()
    await once(other.listen(0, '127.0.0.1'), 'listening')
    taken = (other.address() as AddressInfo).port
  })
  after(async () => {
    other.close()
    await cloud.stop()
  })

  async function start(ports: Partial<GatewaySettings>, environment: Record<string, string>) {
    const home = temporaryFolder()
    cloud.configure(home)
    const attempts: GatewaySettings[] = []
    const startOnce = (settings: GatewaySettings) => {
      attempts.push(settings)
      return startGateway(settings)
    }
    const gateway = await startOnFreePorts(startOnce, settingsFor(home, ports), environment)
    await gateway.stop()
    return { gateway, attempts: attempts.map(({ registryPort, proxyPort }) => [registryPort, proxyPort]) }
  }

  test('startOnFreePorts replaces only the registry port when the default registry port is in use', async () => {
    const { gateway, attempts } = await start({ registryPort: taken }, {})
    assert.deepEqual(attempts, [
      [taken, 0],
      [0, 0],
    ])
    assert.notEqual(gateway.registryPort, taken)
  })

  test('startOnFreePorts replaces a default proxy port in use when the registry port is configured', async () => {
    const { gateway, attempts } = await start({ proxyPort: taken }, { MILLWRIGHT_GATEWAY_REGISTRY_PORT: '0' })
    assert.equal(attempts.length, 2)
    assert.notEqual(gateway.proxyPort, taken)
  })

  test('startOnFreePorts fails with the reason when a configured port is in use', async () => {
    await assert.rejects(start({ registryPort: taken }, { MILLWRIGHT_GATEWAY_REGISTRY_PORT: String(taken) }), {
      message: `Port ${taken} of the registry is in use: stop the other program, or set MILLWRIGHT_GATEWAY_REGISTRY_PORT to a free port.`,
    })
    await assert.rejects(start({ proxyPort: taken }, { MILLWRIGHT_GATEWAY_PROXY_PORT: String(taken) }), {
      message: `Port ${taken} of the auth proxy is in use: stop the other program, or set MILLWRIGHT_GATEWAY_PROXY_PORT to a free port.`,
    })
  })
})

describe('the settings of the gateway in millwright config', () => {
  test('millwright config lists all gateway settings with the ports of a running local gateway', async () => {
    const home = temporaryFolder()
    mkdirSync(join(home, 'gateway'))
    await publishPorts(home, { registryPort: 41_001, proxyPort: 8090 })
    const environment = { MILLWRIGHT_HOME: home, MILLWRIGHT_GATEWAY_HTTP_PROXY: 'http://name:word@proxy.example:3128' }
    const { out } = await millwright(['config'], environment)
    const row = (variable: string) => out.split('\n').find((line) => line.includes(variable)) ?? assert.fail(variable)
    for (const { variable } of Object.values(gatewaySettings)) row(variable)
    assert.match(row('MILLWRIGHT_GATEWAY_REGISTRY_PORT'), /41001 \(of the running gateway; default 50051\)/)
    assert.match(row('MILLWRIGHT_GATEWAY_PROXY_PORT'), /8090 \(default\)/)
    assert.match(row('MILLWRIGHT_GATEWAY_HTTP_PROXY'), /http:\/\/name:\*\*\*@proxy\.example:3128/)
    const { out: json } = await millwright(['config', '--json'], environment)
    const rows = JSON.parse(json) as { variable: string; value: string }[]
    assert.equal(rows.find(({ variable }) => variable === 'MILLWRIGHT_GATEWAY_REGISTRY_PORT')?.value, '41001')
  })

  test('millwright config suggests the nearest name for an unknown setting', async () => {
    const mistakes = {
      MILLWRIGHT_GATEWAY_REGISTRI_PORT: 'MILLWRIGHT_GATEWAY_REGISTRY_PORT',
      MILLWRIGHT_GATEWY_HOME: 'MILLWRIGHT_GATEWAY_HOME',
      MILLWRIGHT_LINK_VENDOR: 'MILLWRIGHT_LINK_VENDORS',
      MILLWRIGHT_PROT: 'MILLWRIGHT_PORT',
      MILLWRIGHT_CLIENTID: 'MILLWRIGHT_CLIENT_ID',
    }
    for (const [name, nearest] of Object.entries(mistakes)) {
      const { code, err } = await millwright(['config'], { [name]: '1' })
      assert.equal(err, `Unknown setting ${name}. Did you mean ${nearest}?\n`)
      assert.notEqual(code, 0)
    }
  })

  test('millwright config reports an invalid value of a gateway setting in one sentence', async () => {
    const { code, err } = await millwright(['config'], { MILLWRIGHT_GATEWAY_PROXY_PORT: 'x' })
    assert.deepEqual(
      [code, err],
      [1, 'MILLWRIGHT_GATEWAY_PROXY_PORT must be a whole number from 0 to 65535, but is "x".\n'],
    )
  })

  test('the cloud recognises the names of all gateway and link settings', () => {
    assert.deepEqual(
      Object.values(gatewaySettings).map(({ variable }) => variable),
      gatewayVariables,
    )
    assert.deepEqual([...new Set(helpFor('x').match(/MILLWRIGHT_\w+/g))], linkVariables)
  })
})
