import assert from 'node:assert/strict'
import { credentials } from '@millwright/api/credentials.ts'
import type { CredentialInstance, NewCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { systemCaller } from '../../platform/access/system.ts'
import type { TestCaller, TestHub } from '../../platform/testing/hub.ts'
import { plantedWord } from '../../platform/testing/secrets-shown.ts'

/** A password that tests search for in responses and logs. */
export const password = `${plantedWord}-of-a-device`

export const product = { identifier: 'example.cdm.al.reference', version: '1.2.3' } as const

/** A schema with a password and a nested secret. */
export const schema = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'User of a device',
  type: 'object',
  properties: {
    username: { type: 'string', maxLength: 64 },
    password: { type: 'string', writeOnly: true, minLength: 4 },
    snmp: {
      type: 'object',
      properties: { port: { type: 'integer' }, community: { type: 'string', format: 'password' } },
    },
  },
  required: ['username', 'password'],
  additionalProperties: false,
}

export const uri = 'urn:example:credentials:1'

/** Uploads a schema of a product and returns the id of the schema. */
export async function uploadTestSchema(caller: TestCaller, of: { identifier: string; version: string } = product) {
  const { data } = await caller.credentials.createSchema({
    query: { resourceIdentifier: of.identifier, resourceVersion: of.version },
    body: { data: { uri, schema } },
  })
  return data.id
}

type Changes = Partial<Omit<NewCredentialInstance, 'metadata'>> & {
  metadata?: Partial<NewCredentialInstance['metadata']>
}

export function newInstance(schemaId: string, { metadata, ...changes }: Changes = {}): NewCredentialInstance {
  return {
    schemaId,
    name: 'line 1',
    values: { username: 'operator', password },
    metadata: { ipRanges: ['10.0.0.0/24'], ...metadata },
    ...changes,
  }
}

export async function createTestInstance(
  caller: TestCaller,
  schemaId: string,
  changes: Changes = {},
): Promise<CredentialInstance> {
  return (await caller.credentials.createInstance({ body: { data: newInstance(schemaId, changes) } })).data
}

/** Creates a device and returns its id. */
export async function createTestAsset(
  caller: TestCaller,
  name: string,
  more: Record<string, unknown> = {},
): Promise<string> {
  const asset_identifiers = [
    { asset_identifier_type: 'CustomIdentifier', name: 'tag', value: name.replaceAll(' ', '-') },
  ]
  const asset = { functional_object_type: 'Device', name, asset_identifiers, ...more }
  const answer = await caller.exchange(inventory, 'createAsset', {
    headers: { prefer: 'wait=30' },
    body: { data: { asset } },
  })
  const { data } = answer.body as { data?: { detail?: { result?: { assetId?: string } } } }
  return data?.detail?.result?.assetId ?? assert.fail(JSON.stringify(answer.body))
}

/** Returns a client that calls operations with the rights of the platform, as services do. */
export function platform(hub: TestHub) {
  return hub.context.peers(credentials, systemCaller({ tenantId: hub.tenant.tenantId, tenantName: hub.tenant.name }))
}

/** Returns the audited actions on a target, newest first. */
export async function actionsOn(admin: TestCaller, target: string): Promise<string[]> {
  return (await admin.audit.listEntries({ query: { target, limit: 100 } })).data.map(({ action }) => action)
}

/** Returns the types of the events of a subject, in order. */
export async function eventsOf(hub: TestHub, admin: TestCaller, subject: string): Promise<string[]> {
  await hub.settle()
  const types: string[] = []
  for (let after = 0; ; ) {
    const { data, meta } = await admin.events.listEvents({ query: { after, limit: 100 } })
    if (data.length === 0) return types
    types.push(
      ...data.filter((event) => event.subject === subject).map(({ type }) => type.replace('io.millwright.', '')),
    )
    after = meta.lastPosition
  }
}
