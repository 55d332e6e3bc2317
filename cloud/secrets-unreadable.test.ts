import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { type Contract, isEventStream, isInternal, type Operation, pathsOf, writes } from '@millwright/api/contract.ts'
import { contracts } from '@millwright/api/contracts.ts'
import { credentials } from '@millwright/api/credentials.ts'
import { type BuiltInRoleName, builtInRoles } from '@millwright/api/permission.ts'
import { isLongRun } from '@millwright/api/test-effort.ts'
import { systemCaller } from './platform/access/system.ts'
import { newId } from './platform/database/id.ts'
import { type RawAnswer, type TestCaller, type TestHub, testHub } from './platform/testing/hub.ts'
import { plantedWord } from './platform/testing/secrets-shown.ts'
import { plantedCredential, useEverything } from './platform/testing/usage.ts'
import { inputValidator } from './platform/validation.ts'

/**
 * Generated tests: the secret of a credential must not appear in the response of any operation of any contract, for any
 * built-in role. It must not appear in events, documents or pages either.
 */

type Row = { contract: Contract; name: string; operation: Operation }

const operations: Row[] = Object.values(contracts as unknown as Record<string, Contract>).flatMap((contract) =>
  Object.entries(contract.operations).map(([name, operation]) => ({ contract, name, operation })),
)
const reads = operations.filter(({ operation }) => !writes(operation))
const changes = operations.filter(({ operation }) => writes(operation) && operation.method !== 'DELETE')
const deletions = operations.filter(({ operation }) => operation.method === 'DELETE')
/** All built-in roles in a run of the long tests. Otherwise the roles with the most and the closest permissions. */
const roles = isLongRun
  ? (Object.keys(builtInRoles) as BuiltInRoleName[])
  : (['administrator', 'credential_manager'] satisfies BuiltInRoleName[])

/** The secret as plain text and in common encodings. */
const disguises = [
  plantedWord,
  encodeURIComponent(plantedCredential),
  Buffer.from(plantedCredential).toString('hex'),
  Buffer.from(plantedCredential).toString('base64').replace(/=+$/, ''),
]

describe('secret of a credential', () => {
  let hub: TestHub
  let callers: Map<BuiltInRoleName, TestCaller>
  let ids: Awaited<ReturnType<typeof plant>>
  /** The paths of resources that exist. */
  let there: string[]

  before(async () => {
    hub = await testHub()
    there = (await useEverything(hub)).map(({ path }) => path)
    ids = await plant()
    callers = new Map()
    for (const role of roles) callers.set(role, await hub.as(role))
  })
  after(() => hub[Symbol.asyncDispose]())

  /** Returns the ids of resources that `useEverything` created, by the names of their path parameters. */
  async function plant() {
    const admin = await hub.as('administrator')
    const [instance] = (await admin.credentials.listInstances({ query: { assigned: false } })).data
    const [copy] = (await admin.credentials.listInstances({ query: { assigned: true } })).data
    const [template] = (await admin.credentials.listInstancesTemplates({})).data
    const [use] = (await admin.credentials.readInstanceUsage({ params: { instanceId: instance?.id ?? '' } })).data
      .deliveries
    return {
      schemaId: instance?.schemaId ?? '',
      instanceId: instance?.id ?? '',
      instancesTemplateId: template?.id ?? '',
      assetId: copy?.assetId ?? '',
      gatewayId: use?.gatewayId ?? '',
    }
  }

  test('delivers the secret of a credential to a gateway', async () => {
    const system = systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name })
    const { data } = await hub.context.peers(credentials, system).selectCredentials({
      body: {
        data: {
          jobId: newId(),
          gatewayId: ids.gatewayId,
          product: { identifier: 'example.cdm.al.reference', version: '1.2.3' },
          devices: [{ address: '192.0.2.1' }],
        },
      },
    })
    assert.throws(() => assertNone('a delivery', JSON.stringify(data)), /a delivery/)
  })

  for (const role of roles) {
    test(`does not return the secret of a credential in any read response to ${role}`, async () => {
      for (const row of reads) assertHidden(row, await send(row, { role }))
    })
  }

  for (const role of roles) {
    test(`does not return the secret in error responses to ${role}, even if the request contains it`, async () => {
      for (const row of operations.filter(({ operation }) => operation.body !== undefined)) {
        for (const body of refusable.filter((one) => !isAccepted(row.operation, one)))
          assertHidden(row, await send(row, { role, body }))
      }
    })
  }

  for (const role of roles) {
    test(`does not return the secret of a credential in responses to changes by ${role}`, async () => {
      for (const row of changes) assertHidden(row, await send(row, { role }))
    })
  }

  test('does not send the secret of a credential in the event stream', async () => {
    await hub.settle()
    const base = await hub.listen()
    const { meta } = await admin().events.listEvents({ query: { limit: 1 } })
    // The events that an administrator can read include the events of all other roles.
    const streamText = await streamed(`${base}/events/v1/stream?after=0`, {
      token: admin().token,
      until: meta.newestPosition,
    })
    assert.match(streamText, /credentials\.instance\.delivered/)
    assertNone('the stream', streamText)
  })

  test('does not show the secret of a credential in the API documents, the console or the metrics', async () => {
    const paths = ['/openapi.json', '/', '/docs', '/metrics', '/healthz', '/version']
    const prefixes = Object.values(contracts).map(({ prefix }) => `${prefix}/openapi.json`)
    for (const path of [...paths, ...prefixes]) assertNone(path, (await hub.request({ method: 'GET', path })).text)
  })

  for (const role of roles.toSorted((a, b) => Number(a === 'administrator') - Number(b === 'administrator'))) {
    test(`does not return the secret of a credential in responses to deletions by ${role}`, async () => {
      for (const row of deletions) assertHidden(row, await send(row, { role }))
    })
  }

  function admin(): TestCaller {
    return callers.get('administrator') ?? assert.fail()
  }

  async function send(row: Row, { role, body }: { role: BuiltInRoleName; body?: string }): Promise<RawAnswer> {
    const { contract, name, operation } = row
    const isStreamed = Object.values(operation.answers).some(isEventStream)
    const requestBody = body ?? (writes(operation) ? bodyOf(contract.name, name, operation) : undefined)
    const query = isStreamed ? 'no-such-parameter=1' : queryOf(operation)
    const path = pathFor(contract, operation)
    return hub.request({
      method: operation.method,
      path: query === '' ? path : `${path}?${query}`,
      headers: {
        authorization: `Bearer ${callers.get(role)?.token}`,
        ...(requestBody === undefined ? {} : { 'content-type': operation.bodyType ?? 'application/json' }),
      },
      ...(requestBody === undefined ? {} : { body: requestBody }),
    })
  }

  /** Returns the path of an operation. It contains the ids of existing resources, if there are any. */
  function pathFor(contract: Contract, operation: Operation): string {
    const [template = ''] = pathsOf(contract, operation)
    if (contract.name === 'credentials')
      return template.replace(/\{(\w+)\}/g, (_, name: string) => ids[name as keyof typeof ids])
    const pattern = new RegExp(`^${template.replace(/\{\w+\}/g, '[^/?]+')}$`)
    return there.find((path) => pattern.test(path)) ?? template.replace(/\{(\w+)\}/g, () => ids.assetId)
  }

  /** Returns a valid body for operations on credentials, and an invalid body for all other operations. */
  function bodyOf(contract: string, name: string, operation: Operation): string | undefined {
    if (operation.body === undefined) return undefined
    const own: Record<string, object> = {
      createSchema: { uri: 'urn:x', schema: {} },
      createInstance: {
        schemaId: ids.schemaId,
        name: 'another',
        values: { username: 'u', password: plantedCredential },
        metadata: { ipRanges: ['192.0.2.7'] },
      },
      updateInstance: { values: { username: 'v', password: plantedCredential } },
      updateInstancesTemplate: { name: 'drives' },
    }
    return JSON.stringify({ data: (contract === 'credentials' ? own[name] : undefined) ?? {} })
  }
})

/** Bodies that no operation accepts. Each contains the secret. */
const refusable = [
  `{"data":{"values":{"password":"${plantedCredential}"`,
  JSON.stringify({ data: plantedCredential }),
  JSON.stringify({ data: { values: { password: plantedCredential }, metadata: plantedCredential } }),
]

/** Returns true if the contract accepts the body, because its schema has no restrictions. */
function isAccepted({ body }: Operation, text: string): boolean {
  if (body === undefined) return false
  try {
    const input = { body: JSON.parse(text) }
    inputValidator({ method: 'POST', path: '', summary: '', access: 'public', answers: {}, body })(input)
    return true
  } catch {
    return false
  }
}

function queryOf(operation: Operation): string {
  const { required = [], properties = {} } = (operation.query ?? {}) as {
    required?: string[]
    properties?: Record<string, { enum?: string[] }>
  }
  return required.map((name) => `${name}=${properties[name]?.enum?.[0] ?? newId()}`).join('&')
}

function assertHidden({ contract, name, operation }: Row, { status, text, headers }: RawAnswer): void {
  assert.ok(status < 500 || status === 503, `${contract.name}.${name} answered ${status}`)
  if (isInternal(operation)) assert.equal(status, 404, `${contract.name}.${name}`)
  assertNone(`${contract.name}.${name}`, text + JSON.stringify([...headers]))
}

function assertNone(where: string, text: string): void {
  for (const disguise of disguises) {
    const at = text.indexOf(disguise)
    assert.equal(at, -1, `The secret shows in ${where}: …${text.slice(Math.max(0, at - 60), at + 20)}…`)
  }
}

/** Reads a stream up to a position. */
async function streamed(url: string, { token, until }: { token: string; until: number }): Promise<string> {
  const abort = new AbortController()
  const response = await fetch(url, { headers: { authorization: `Bearer ${token}` }, signal: abort.signal })
  if (!response.ok) return response.text()
  let text = ''
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    text += Buffer.from(chunk).toString()
    const positions = [...text.matchAll(/^id: ?(\d+)$/gm)].map(([, position]) => Number(position))
    if (Math.max(0, ...positions) >= until) break
  }
  abort.abort()
  return text
}
