import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { manifest } from '@millwright/links/plant/manifest.ts'
import { type Caller, callerOf, type Platform, startPlatform, temporaryFolder, tokenOf, until } from './platform.ts'
import { millwright, type Program } from './program.ts'

/**
 * These tests follow a credential from the user who enters it to the device that accepts it. Cloud, gateway and link
 * run in separate processes.
 */

/**
 * Matches the wrong and correct passwords. None of them may be stored anywhere after the test. The expression excludes
 * a table whose name starts with the correct password.
 */
const secrets = /planted-secret|user_password(?!s)/

const user = (password: string) => ({ username: 'user', password })

describe('a credential from the cloud to the device', () => {
  const cloudHome = temporaryFolder()
  const floor = temporaryFolder('floor')
  const gatewayHome = join(floor.path, 'gateway')
  const programs: Program[] = []
  let platform: Platform
  /** The caller that runs discoveries. */
  let admin: Caller
  /** The caller that manages credentials and has few other permissions. */
  let manager: Caller
  let gateway: Program
  let gatewayId: string
  let schemaId: string

  before(async () => {
    platform = await startPlatform({ home: cloudHome.path, environment: { MILLWRIGHT_LOG_LEVEL: 'debug' } })
    admin = await callerOf(platform)
    manager = await managerOf(platform, admin)
    const made = await admin.onboarding.createGateway({ body: { data: { name: 'Hall 4' } } })
    gatewayId = made.data.id
    const config = await admin.onboarding.createGatewayConfig({ params: { id: gatewayId } })
    writeFileSync(join(floor.path, 'gateway-config.json'), JSON.stringify(config))
    gateway = await startGateway()
    const registry = /Registry\S* +port (\d+)/.exec(stripVTControlCharacters(gateway.stdout()))?.[1]
    run(['link', 'run', 'plant', '--registry', `127.0.0.1:${registry}`])
  })
  after(async () => {
    for (const program of programs.toReversed()) await program[Symbol.asyncDispose]()
    await platform[Symbol.asyncDispose]()
    floor[Symbol.dispose]()
    cloudHome[Symbol.dispose]()
  })

  function run(args: readonly string[], environment: Record<string, string> = {}): Program {
    const program = millwright(args, { home: floor.path, environment })
    programs.push(program)
    return program
  }

  async function startGateway(): Promise<Program> {
    const ports = ['--registry-port', '0', '--proxy-port', '0']
    const files = ['--config', join(floor.path, 'gateway-config.json'), '--home', gatewayHome]
    const started = run(['gateway', ...files, ...ports], { MILLWRIGHT_GATEWAY_LOG_LEVEL: 'debug' })
    await until('the gateway is ready', () => started.stdout().includes('Ctrl-C'))
    return started
  }

  const begin = async (options: Record<string, string>) => {
    const discoveryOptions = Object.entries(options).map(([key, value]) => ({ key, value }))
    const body = { data: { assetLinkId: manifest.id, discoveryOptions } }
    return (await admin.discovery.createDiscovery({ params: { gatewayId }, body })).jobId
  }
  const over = async (jobId: string) => {
    const read = async () => (await admin.discovery.getDiscovery({ params: { jobId } })).data
    await until('the discovery ends', async () => ['finished', 'failed', 'canceled'].includes((await read()).state))
    const { found, created, unchanged, state, message } = await read()
    assert.equal(state, 'finished', message)
    const { data: report } = await admin.discovery.getReport({ params: { jobId }, query: {} })
    const errors = report.errors.map(({ code, description, device }) => `${code} ${device?.ipAddress}: ${description}`)
    return { found, created, unchanged, errors: errors.toSorted() }
  }
  const discover = async () => over(await begin({ reference: 'true' }))
  const create = async (name: string, password: string, ...ipRanges: string[]) => {
    const data = { schemaId, name, values: user(password), metadata: { ipRanges } }
    return (await manager.credentials.createInstance({ body: { data } })).data.id
  }
  const assetAt = async (address: string) => {
    const filter = `connection_points/any(c: c/ipv4_address eq '${address}')`
    return (await admin.inventory.listAssets({ query: { filter } })).data[0]?.id as string | undefined
  }
  const delivered = async () => {
    const { data } = await admin.audit.listEntries({ query: { action: 'credentials.deliver' } })
    return data.map(({ detail }) => [detail.address, detail.instanceIds])
  }

  const none = 'The device is protected, and there are no credentials for its address'

  test('adds the credential schema of the link, and finds only unprotected devices without credentials', async () => {
    const running = { relationsFilter: `object.id eq '${gatewayId}' and predicate eq 'is_running_on'` }
    let product: Record<string, string> = {}
    await until('the link runs', async () => {
      const [link] = (await admin.inventory.listAssets({ query: running })).data
      const { manufacturer_product: found } = (link?.product_instance_information ?? {}) as Record<
        string,
        typeof product
      >
      product = found ?? {}
      return link !== undefined
    })
    assert.deepEqual([product.product_id, product.product_version], [manifest.id, manifest.version])
    const [data] = manifest.credentialSchemas ?? []
    const { data: schema } = await manager.credentials.createSchema({
      query: { resourceIdentifier: product.product_id ?? '', resourceVersion: product.product_version ?? '' },
      body: { data: data as { uri: string; schema: Record<string, unknown> } },
    })
    schemaId = schema.id
    assert.deepEqual(await discover(), {
      found: 4,
      created: 4,
      unchanged: 0,
      errors: [`16 192.168.0.12: ${none}`, `16 192.168.1.12: ${none}`],
    })
    assert.deepEqual(await delivered(), [])
  })

  test('delivers credentials only for devices in their address range, and reports rejected credentials', async () => {
    const wrong = await create('wrong', 'planted-secret-1', '192.168.0.0/24')
    await create('elsewhere', 'user_password', '10.9.0.0/16')
    const { found, errors } = await discover()
    assert.equal(found, 4)
    assert.deepEqual(errors, [
      '16 192.168.0.12: The device is protected: 1 credential was rejected',
      `16 192.168.1.12: ${none}`,
    ])
    assert.deepEqual(await delivered(), [['192.168.0.12', [wrong]]])
  })

  test('creates an asset for a protected device, and stores which credential opened the device', async () => {
    const right = await create('right', 'user_password', '192.168.0.10-192.168.0.20')
    await create('newer, and wrong', 'planted-secret-2', '192.168.0.12')
    const { found, created, errors } = await discover()
    assert.deepEqual([found, created, errors], [5, 1, [`16 192.168.1.12: ${none}`]])
    const assetId = (await assetAt('192.168.0.12')) ?? assert.fail('A2 is no asset')
    const { data } = await manager.credentials.listAssetInstances({ params: { assetId }, query: {} })
    assert.deepEqual(
      data.map(({ id }) => id),
      [right],
    )

    assert.deepEqual(await discover(), { found: 5, created: 0, unchanged: 5, errors: [`16 192.168.1.12: ${none}`] })
    const [latest] = await delivered()
    assert.deepEqual(latest, ['192.168.0.12', [right]], 'a known device gets the credential that opened it')

    const { data: properties } = await admin.discovery.readProperties({
      params: { id: assetId },
      body: { data: { keys: ['name'] } },
    })
    assert.deepEqual(properties, [{ key: 'name', value: 'Simulated Device A2' }])
  })

  test('leaves no secrets on disk when the gateway is killed while it uses them', async () => {
    await create('hall', 'user_password', '10.0.0.0/24')
    const before = (await delivered()).length
    const jobId = await begin({ size: '60', seed: '3', protected_percent: '100', rate: '30' })
    await until('credentials were delivered', async () => (await delivered()).length > before)
    gateway.child.kill('SIGKILL')
    await gateway.ended
    await admin.discovery.deleteDiscovery({ params: { jobId } })
    assert.deepEqual(tracesIn(floor.path), [])
  })

  test('leaves no secret on the shop floor, in logs, or in plain text in the cloud', async () => {
    await platform.stop()
    assert.deepEqual(tracesIn(floor.path), [])
    assert.deepEqual(tracesIn(cloudHome.path), [])
    for (const program of [...programs, platform.program]) {
      assert.ok(!secrets.test(program.stdout() + program.stderr()), program.child.spawnargs.slice(2, 4).join(' '))
    }
  })
})

/** Creates a user with only the role for credentials and returns the user's clients. */
async function managerOf(platform: Platform, admin: Caller): Promise<Caller> {
  const { data } = await admin.identity.createServerUser({ body: { data: { name: 'key keeper' } } })
  await admin.authorization.createGrant({ body: { data: { principal: data.id, role: 'credential_manager' } } })
  return callerOf(platform, await tokenOf(platform.baseUrl, data))
}

/** Returns the files below a folder that contain a secret. */
function tracesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .filter((file) => secrets.test(readFileSync(file, 'latin1')))
}
