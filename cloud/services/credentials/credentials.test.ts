import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { credentials } from '@millwright/api/credentials.ts'
import { inventory } from '@millwright/api/inventory/inventory.ts'
import { enrolledGateway, linkReport } from '../../platform/testing/gateway.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  actionsOn,
  createTestAsset,
  createTestInstance,
  eventsOf,
  newInstance,
  password,
  product,
  schema,
  uploadTestSchema,
  uri,
} from './testing.ts'

const nowhere = '01980000-0000-7000-8000-000000000000'

describe('credentials', () => {
  let hub: TestHub
  let admin: TestCaller
  let manager: TestCaller
  let schemaId: string
  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    manager = await hub.as('credential_manager')
    schemaId = await uploadTestSchema(manager)
  })
  after(() => hub[Symbol.asyncDispose]())

  const call = (operation: string, input: object, caller = manager) => caller.exchange(credentials, operation, input)
  const codeOf = ({ status, body }: { status: number; body: unknown }) => [status, (body as { code: string }).code]
  const upload = (version: string, more: object = {}) =>
    call('createSchema', {
      query: { resourceIdentifier: product.identifier, resourceVersion: version },
      body: { data: { uri, schema } },
      ...more,
    })
  const trail = (target: string) => actionsOn(admin, target)
  const happened = (subject: string) => eventsOf(hub, admin, subject)

  describe('credential schemas', () => {
    test('returns the id of an uploaded credential schema in Location', async () => {
      const made = await upload('2.0.0')
      assert.equal(made.status, 201)
      const location = made.headers.get('location') ?? ''
      assert.match(location, /^\/credentials\/v2\/schemas\/[0-9a-f-]{36}$/)
      const { data } = await manager.credentials.getSchema({ params: { schemaId: location.split('/').at(-1) ?? '' } })
      assert.deepEqual([data.uri, data.resourceVersion, data.schema], [uri, '2.0.0', schema])
      assert.deepEqual(await trail(`credential-schema/${data.id}`), ['credentials.createSchema'])
      assert.deepEqual(await happened(`credential-schema/${data.id}`), ['credentials.schema.created'])
    })

    test('returns the existing credential schema when the same identifier and version are uploaded again', async () => {
      const [first, again] = [
        await upload('2.0.1'),
        await upload('2.0.1', { body: { data: { uri: 'urn:x', schema: {} } } }),
      ]
      assert.deepEqual([first.status, again.status], [201, 200])
      assert.equal(again.headers.get('location'), first.headers.get('location'))
      assert.equal((again.body as { data: { uri: string } }).data.uri, uri)
    })

    test('creates one credential schema for two concurrent uploads', async () => {
      const answers = await Promise.all([upload('2.0.2'), upload('2.0.2'), upload('2.0.2')])
      assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 200, 201])
      assert.equal(new Set(answers.map(({ headers }) => headers.get('location'))).size, 1)
    })

    test('requires the permission write_template to upload a credential schema', async () => {
      const just = async (permission: 'write_template' | 'glb_credential_write') => {
        const name = `only-${permission.replaceAll('_', '-')}`
        await admin.authorization.createRole({ body: { data: { name, permissions: [permission] } } })
        return hub.as(name)
      }
      const question = { query: { resourceIdentifier: 'x', resourceVersion: '1' }, body: { data: { uri, schema } } }
      assert.equal((await call('createSchema', question, await just('glb_credential_write'))).status, 403)
      assert.equal((await call('createSchema', question, await just('write_template'))).status, 201)
    })

    const hostile: [string, Record<string, unknown>][] = [
      ['refers to a schema on the network', { $ref: 'https://evil.example/schema.json' }],
      ['has a back reference in a pattern', { properties: { a: { pattern: '(a+)+\\1$' } } }],
      ['refers to itself without end', { allOf: [{ $ref: '#' }] }],
      ['is not a schema', { type: 'nonsense' }],
      ['uses an unknown draft', { $schema: 'http://example.com/schema' }],
    ]
    for (const [what, wrong] of hostile) {
      test(`refuses a credential schema that ${what}`, async () => {
        const answer = await upload('6.6.6', { body: { data: { uri, schema: wrong } } })
        assert.deepEqual(codeOf(answer), [400, 'invalid_schema'])
      })
    }

    test('lists all versions of a credential schema', async () => {
      const { data, meta } = await manager.credentials.listSchemas({
        query: { resourceIdentifier: product.identifier, limit: 2 },
      })
      assert.equal(data.length, 2)
      assert.ok((meta.totalElements ?? 0) >= 4)
      assert.ok(!('schema' in (data[0] ?? {})))
      const one = await manager.credentials.listSchemas({
        query: { resourceIdentifier: product.identifier, resourceVersion: product.version },
      })
      assert.deepEqual(
        one.data.map(({ id }) => id),
        [schemaId],
      )
    })

    test('changes and deletes a credential schema only while it has no instances', async () => {
      const made = (await upload('3.0.0')).body as { data: { id: string } }
      const params = { schemaId: made.data.id }
      const stale = { params, headers: { 'if-match': '"7"' }, body: { data: { uri: 'urn:other' } } }
      assert.deepEqual(codeOf(await call('updateSchema', stale)), [412, 'precondition_failed'])
      const change = { params, headers: { 'if-match': '"1"' }, body: { data: { uri: 'urn:other' } } }
      assert.match((await call('updateSchema', change)).headers.get('etag') ?? '', /^"2\./)
      const { id } = await createTestInstance(manager, params.schemaId)
      assert.deepEqual(codeOf(await call('updateSchema', { params, body: { data: { schema: {} } } })), [
        409,
        'schema_in_use',
      ])
      assert.deepEqual(codeOf(await call('deleteSchema', { params })), [409, 'schema_in_use'])
      await manager.credentials.deleteInstance({ params: { instanceId: id } })
      assert.equal((await call('deleteSchema', { params })).status, 204)
      assert.equal((await call('getSchema', { params })).status, 404)
    })
  })

  describe('credential instances', () => {
    test('returns the id of a new credential instance in Location', async () => {
      const made = await call('createInstance', { body: { data: newInstance(schemaId) } })
      assert.equal(made.status, 201)
      const instanceId = made.headers.get('location')?.split('/').at(-1) ?? ''
      const { data } = await manager.credentials.getInstance({ params: { instanceId } })
      assert.deepEqual(data.metadata, { ipRanges: ['10.0.0.0/24'] })
      assert.deepEqual(await trail(`credential-instance/${instanceId}`), ['credentials.createInstance'])
      assert.deepEqual(await happened(`credential-instance/${instanceId}`), ['credentials.instance.created'])
    })

    test('never returns the secrets of a credential instance, at any depth', async () => {
      const values = { username: 'u', password, snmp: { port: 161, community: password } }
      const { id } = await createTestInstance(manager, schemaId, { values })
      const { data } = await manager.credentials.getInstance({ params: { instanceId: id } })
      assert.deepEqual(data.values, { username: 'u', password: '***', snmp: { port: 161, community: '***' } })
    })

    test('stores the secrets of a credential instance encrypted', async () => {
      const { id } = await createTestInstance(manager, schemaId)
      const text = await hub.asOwner(async (owner) => {
        const { rows } = await owner.query(
          `select i::text || encode(sealed, 'escape') as text from credential_instances i where id = $1`,
          [id],
        )
        return String(rows[0]?.text)
      })
      assert.ok(text.includes('operator') && !text.includes(password))
    })

    const wrong: [string, Record<string, unknown>, string][] = [
      ['a value of another type', { username: 7, password }, '/data/values/username'],
      ['a missing secret', { username: 'u' }, '/data/values/password'],
      ['an unknown field', { username: 'u', password, other: password }, '/data/values/other'],
      ['a secret that violates the schema', { username: 'u', password: 'xyz' }, '/data/values/password'],
      ['the placeholder instead of a secret', { username: 'u', password: '***' }, '/data/values/password'],
    ]
    for (const [what, values, pointer] of wrong) {
      test(`refuses a credential instance with ${what}, and reports the field without its value`, async () => {
        const answer = await call('createInstance', { body: { data: newInstance(schemaId, { values }) } })
        assert.deepEqual(codeOf(answer), [400, 'invalid_values'])
        const { errors } = answer.body as { errors: { pointer: string }[] }
        assert.deepEqual(
          errors.map((error) => error.pointer),
          [pointer],
        )
        assert.ok(!JSON.stringify(answer.body).includes('xyz'))
      })
    }

    test('refuses a credential instance for a missing schema, without address ranges or with invalid ranges', async () => {
      const instance = newInstance(schemaId)
      const bodies = [
        { ...instance, metadata: {} },
        { ...instance, metadata: { ipRanges: [] } },
        { ...instance, metadata: { ipRanges: ['hall 4'] } },
        { ...instance, schemaId: nowhere },
      ]
      const answers = await Promise.all(bodies.map((data) => call('createInstance', { body: { data } })))
      assert.deepEqual(answers.map(codeOf), [
        [400, 'invalid_body'],
        [400, 'invalid_body'],
        [400, 'invalid_range'],
        [422, 'schema_not_found'],
      ])
    })

    test('preserves a credential secret that is absent or sent as ***, and changes the sent fields', async () => {
      const { id } = await createTestInstance(manager, schemaId)
      const params = { instanceId: id }
      const change = (data: object) => call('updateInstance', { params, body: { data } })
      await change({ values: { username: 'v', password: '***' } })
      await change({ metadata: { ipRanges: ['10.9.0.1'], purpose: 'monitoring' } })
      await change({ values: { password: `${password}-2` }, name: 'hall 4' })
      const { data } = await manager.credentials.getInstance({ params })
      assert.deepEqual([data.name, data.values, data.version], ['hall 4', { username: 'v', password: '***' }, 4])
      const history = await manager.credentials.listInstanceVersions({ params })
      assert.deepEqual(
        history.data.map(({ version, change: what, fields }) => [version, what, ...fields]),
        [
          [4, 'updated', 'name', 'values/password'],
          [3, 'updated', 'metadata/ipRanges', 'metadata/purpose'],
          [2, 'updated', 'values/username'],
          [1, 'created'],
        ],
      )
      assert.ok(history.data.every(({ changedBy }) => changedBy.startsWith('credential_manager')))
    })

    test('refuses a change that makes credential values invalid or nested too deep', async () => {
      const { id } = await createTestInstance(manager, schemaId)
      const params = { instanceId: id }
      for (const values of [{ password: null }, { snmp: { community: '***' } }]) {
        const refused = await call('updateInstance', { params, body: { data: { values } } })
        assert.deepEqual(codeOf(refused), [400, 'invalid_values'])
      }
      const deep = await hub.request({
        method: 'PATCH',
        path: `/credentials/v2/instances/${id}`,
        headers: { authorization: `Bearer ${manager.token}`, 'content-type': 'application/json' },
        body: `{"data":{"values":${'{"snmp":'.repeat(20_000)}1${'}'.repeat(20_002)}`,
      })
      assert.equal(deep.status, 400, deep.text)
      assert.equal((await manager.credentials.getInstance({ params })).data.version, 1)
    })

    test('changes a credential instance only when If-Match has its current version', async () => {
      const { id } = await createTestInstance(manager, schemaId)
      const params = { instanceId: id }
      const read = await call('getInstance', { params })
      const headers = { 'if-match': read.headers.get('etag') ?? '' }
      const change = { params, headers, body: { data: { name: 'hall 5' } } }
      const changed = await call('updateInstance', change)
      assert.equal(changed.status, 200)
      assert.deepEqual(codeOf(await call('updateInstance', change)), [412, 'precondition_failed'])
      assert.deepEqual(codeOf(await call('deleteInstance', { params, headers })), [412, 'precondition_failed'])
      const same = await call('getInstance', {
        params,
        headers: { 'if-none-match': changed.headers.get('etag') ?? '' },
      })
      assert.equal(same.status, 304)
    })

    test('filters the list of credential instances by schema, product, purpose, name and address', async () => {
      const other = await uploadTestSchema(manager, { identifier: 'other.link', version: '1' })
      const names = ['both', 'scan', 'watch'] as const
      const purposes = { both: {}, scan: { purpose: 'discovery' }, watch: { purpose: 'monitoring' } } as const
      for (const [index, name] of names.entries()) {
        const ipRanges = [`172.16.${index}.0/24`, '2001:db8:7::/64', '172.17.0.0-172.17.0.9']
        await createTestInstance(manager, other, { name, metadata: { ipRanges, ...purposes[name] } })
      }
      const find = async (query: object) =>
        (await manager.credentials.listInstances({ query: { schemaId: other, ...query } })).data
          .map(({ name }) => name)
          .toSorted()
      assert.deepEqual(await find({}), ['both', 'scan', 'watch'])
      assert.deepEqual(await find({ resourceIdentifier: 'other.link' }), ['both', 'scan', 'watch'])
      assert.deepEqual(await find({ resourceIdentifier: product.identifier }), [])
      assert.deepEqual(await find({ purpose: 'discovery' }), ['both', 'scan'])
      assert.deepEqual(await find({ purpose: 'monitoring' }), ['both', 'watch'])
      assert.deepEqual(await find({ name: 'scan' }), ['scan'])
      assert.deepEqual(await find({ address: '172.16.1.255' }), ['scan'])
      assert.deepEqual(await find({ address: '172.17.0.9' }), ['both', 'scan', 'watch'])
      assert.deepEqual(await find({ address: '172.17.0.10' }), [])
      assert.deepEqual(await find({ address: '2001:DB8:7:0::1' }), ['both', 'scan', 'watch'])
      const page = await manager.credentials.listInstances({ query: { schemaId: other, limit: 1, offset: 1 } })
      assert.deepEqual([page.meta.totalElements, page.data.map(({ name }) => name)], [3, ['scan']])
      assert.deepEqual(codeOf(await call('listInstances', { query: { address: 'hall' } })), [400, 'invalid_range'])
    })

    test('searches credential instances by name, range, shown value and title, but not by field name or secret', async () => {
      const other = await uploadTestSchema(manager, { identifier: 'searched.link', version: '1' })
      const press = { username: 'press-user', password }
      await createTestInstance(manager, other, { name: 'Press 100%', values: press })
      await createTestInstance(manager, other, { name: 'paint', metadata: { ipRanges: ['172.30.0.0/24'] } })
      const find = async (q: string) =>
        (await manager.credentials.listInstances({ query: { schemaId: other, q } })).data
          .map(({ name }) => name)
          .toSorted()
      assert.deepEqual(await find('PRESS'), ['Press 100%'])
      assert.deepEqual(await find('%'), ['Press 100%'])
      assert.deepEqual(await find('ress-us'), ['Press 100%'])
      assert.deepEqual(await find('172.30'), ['paint'])
      assert.deepEqual(await find('user of'), ['Press 100%', 'paint'])
      for (const q of ['username', '***', password]) assert.deepEqual(await find(q), [], q)
    })

    test('creates one credential instance per Idempotency-Key', async () => {
      const request = { body: { data: newInstance(schemaId, { name: 'once' }) }, headers: { 'idempotency-key': 'one' } }
      const [first, again] = [await call('createInstance', request), await call('createInstance', request)]
      assert.equal(again.headers.get('location'), first.headers.get('location'))
      assert.equal((await manager.credentials.listInstances({ query: { name: 'once' } })).meta.totalElements, 1)
    })
  })

  describe('instances templates', () => {
    const instance = async (name: string) =>
      (await manager.credentials.createInstancesTemplate({ body: { data: { name } } })).data

    test('creates, changes, lists and deletes an instances template', async () => {
      const made = await call('createInstancesTemplate', {
        body: { data: { name: 'pumps', description: 'all of them' } },
      })
      const id = made.headers.get('location')?.split('/').at(-1) ?? ''
      assert.equal(made.status, 201)
      const params = { instancesTemplateId: id }
      const change = { params, headers: { 'if-match': '"1"' }, body: { data: { description: null } } }
      assert.equal((await call('updateInstancesTemplate', change)).status, 200)
      assert.deepEqual(codeOf(await call('updateInstancesTemplate', change)), [412, 'precondition_failed'])
      const { data } = await manager.credentials.listInstancesTemplates({ query: { name: 'pumps' } })
      assert.deepEqual([data.length, data[0]?.version, data[0]?.description], [1, 2, undefined])
      await manager.credentials.deleteInstancesTemplate({ params })
      assert.equal((await call('getInstancesTemplate', { params })).status, 404)
    })

    test('maps a credential instance to a template once, and lists the mapped instances', async () => {
      const { id: instancesTemplateId } = await instance('drives')
      const { id: instanceId } = await createTestInstance(manager, schemaId)
      const params = { instancesTemplateId, instanceId }
      assert.deepEqual(
        [(await call('mapInstance', { params })).status, (await call('mapInstance', { params })).status],
        [201, 200],
      )
      const list = async () => manager.credentials.listTemplateInstances({ params: { instancesTemplateId } })
      assert.deepEqual([(await list()).meta.totalElements, (await list()).data[0]?.id], [1, instanceId])
      assert.equal((await call('unmapInstance', { params })).status, 204)
      assert.equal((await call('unmapInstance', { params })).status, 404)
      assert.deepEqual((await list()).data, [])
      const away = { instancesTemplateId: nowhere, instanceId }
      assert.equal((await call('mapInstance', { params: away })).status, 404)
      assert.deepEqual(await happened(`credential-instance/${instanceId}`), [
        'credentials.instance.created',
        'credentials.instance.mapped',
        'credentials.instance.unmapped',
      ])
    })

    test('maps a credential instance to a template, or returns 404 when the template is deleted concurrently', async () => {
      const { id: instanceId } = await createTestInstance(manager, schemaId)
      for (let round = 0; round < 5; round++) {
        const { id: instancesTemplateId } = await instance('short-lived')
        const [mapped, deleted] = await Promise.all([
          call('mapInstance', { params: { instancesTemplateId, instanceId } }),
          call('deleteInstancesTemplate', { params: { instancesTemplateId } }),
        ])
        assert.ok([201, 404].includes(mapped.status), `${mapped.status}`)
        assert.equal(deleted.status, 204)
      }
    })

    test('makes a discovery credential also usable for monitoring when it is mapped to a template', async () => {
      const { id: instancesTemplateId } = await instance('valves')
      for (const [before, is] of [
        ['discovery', undefined],
        [undefined, undefined],
        ['monitoring', 'monitoring'],
      ] as const) {
        const metadata = before === undefined ? {} : { purpose: before }
        const { id: instanceId } = await createTestInstance(manager, schemaId, { metadata })
        const { data } = await manager.credentials.mapInstance({ params: { instancesTemplateId, instanceId } })
        assert.equal(data.metadata.purpose, is)
      }
    })
  })

  describe('credentials of an asset', () => {
    const assign = (assetId: string, instanceId: string, caller = manager) =>
      call('assignInstance', { params: { assetId, instanceId } }, caller)
    const of = async (assetId: string) => (await manager.credentials.listAssetInstances({ params: { assetId } })).data

    test('assigns a copy of a credential instance that later changes of the original do not affect', async () => {
      const assetId = await createTestAsset(admin, 'drive 1')
      const original = await createTestInstance(manager, schemaId)
      const made = await assign(assetId, original.id)
      assert.equal(made.status, 201)
      const copyId = made.headers.get('location')?.split('/').at(-1) ?? ''
      assert.notEqual(copyId, original.id)
      const change = { name: 'changed', values: { username: 'changed' } }
      await manager.credentials.updateInstance({ params: { instanceId: original.id }, body: { data: change } })
      const [copy, ...others] = await of(assetId)
      assert.deepEqual(others, [])
      assert.deepEqual([copy?.id, copy?.name, copy?.assigned], [copyId, 'line 1', true])
      assert.deepEqual(copy?.values, { username: 'operator', password: '***' })
      assert.deepEqual([copy?.assetId, copy?.copiedFrom], [assetId, original.id])
      await manager.credentials.deleteInstance({ params: { instanceId: original.id } })
      assert.equal((await of(assetId)).length, 1)
      assert.deepEqual(await trail(`credential-instance/${copyId}`), ['credentials.assignInstance'])
    })

    test('assigns one copy of a credential instance per asset, until the copy is removed', async () => {
      const assetId = await createTestAsset(admin, 'drive 2')
      const { id } = await createTestInstance(manager, schemaId)
      const [first, again] = [await assign(assetId, id), await assign(assetId, id)]
      assert.deepEqual([first.status, again.status], [201, 200])
      assert.equal(first.headers.get('location'), again.headers.get('location'))
      const usage = await admin.credentials.readInstanceUsage({ params: { instanceId: id } })
      assert.deepEqual(
        usage.data.copies.map((copy) => copy.assetId),
        [assetId],
      )
      assert.equal((await call('unassignInstance', { params: { assetId, instanceId: id } })).status, 204)
      assert.equal((await call('unassignInstance', { params: { assetId, instanceId: id } })).status, 404)
      assert.deepEqual(await of(assetId), [])
      assert.equal((await call('getInstance', { params: { instanceId: id } })).status, 200)
    })

    test('returns 409 when a credential instance that is not for monitoring is assigned to an asset', async () => {
      const assetId = await createTestAsset(admin, 'drive 3')
      const { id } = await createTestInstance(manager, schemaId, { metadata: { purpose: 'discovery' } })
      assert.deepEqual(codeOf(await assign(assetId, id)), [409, 'instance_not_for_monitoring'])
      const { data: template } = await manager.credentials.createInstancesTemplate({ body: { data: { name: 'x' } } })
      await manager.credentials.mapInstance({ params: { instancesTemplateId: template.id, instanceId: id } })
      assert.equal((await assign(assetId, id)).status, 201)
    })

    test('a caller without read access to an asset can assign, list and unassign its credentials, but receives no data of the asset', async () => {
      const { data: group } = await admin.authorization.createAccessGroup({ body: { data: { name: 'line 9' } } })
      const assetId = await createTestAsset(admin, 'hidden', { access_group: group.id })
      const { id: instanceId } = await createTestInstance(manager, schemaId)
      const name = 'credentials-only'
      await admin.authorization.createRole({
        body: { data: { name, permissions: ['glb_credential_read', 'glb_credential_write'] } },
      })
      const blind = await hub.as(name)
      const input = (operation: string, id: string) => ({
        params: operation === 'listAssetInstances' ? { assetId: id } : { assetId: id, instanceId },
      })
      for (const [operation, status] of [
        ['assignInstance', 201],
        ['listAssetInstances', 200],
        ['unassignInstance', 204],
      ] as const) {
        const answer = await call(operation, input(operation, assetId), blind)
        assert.equal(answer.status, status, operation)
        assert.doesNotMatch(JSON.stringify(answer.body), /hidden/)
        assert.deepEqual(codeOf(await call(operation, input(operation, nowhere), blind)), [404, 'not_found'])
      }
    })
  })

  test('omits the ids of assets that the caller cannot read from credential instances, templates and copies', async () => {
    const assetId = await createTestAsset(admin, 'unread')
    const { id: instanceId } = await createTestInstance(manager, schemaId)
    const { body } = await call('assignInstance', { params: { assetId, instanceId } })
    const copy = (body as { data: { id: string } }).data.id
    const { data: template } = await manager.credentials.createInstancesTemplate({ body: { data: { name: 'copies' } } })
    const mapping = { instancesTemplateId: template.id, instanceId: copy }
    await manager.credentials.mapInstance({ params: mapping })
    const reads = [
      ['mapInstance', { params: mapping }],
      ['getInstance', { params: { instanceId: copy } }],
      ['listInstances', { query: { limit: 100 } }],
      ['listTemplateInstances', { params: { instancesTemplateId: template.id } }],
      ['readInstanceUsage', { params: { instanceId } }],
      ['updateInstance', { params: { instanceId: copy }, body: { data: { name: 'renamed' } } }],
    ] as const
    for (const [operation, input] of reads) {
      const hidden = await call(operation, input)
      assert.equal(hidden.status, 200, operation)
      assert.ok(!JSON.stringify(hidden.body).includes(assetId), operation)
      assert.ok(JSON.stringify((await call(operation, input, admin)).body).includes(assetId), operation)
    }
  })

  test('allows the role credential_manager to read gateways and links of every group, and no other asset', async () => {
    const gateway = await enrolledGateway(hub, admin)
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [linkReport()] } } })
    const device = await createTestAsset(admin, 'a device')
    const software = await createTestAsset(admin, 'a program', { functional_object_type: 'SoftwareArtifact' })
    const { data: links } = await admin.discovery.listAssetLinks({ params: { gatewayId: gateway.id } })
    const link = links[0]?.assetId ?? ''
    for (const operation of [
      'readAsset',
      'readIdentifiers',
      'readHistory',
      'listAssetRelations',
      'readGraph',
      'listMerges',
    ])
      for (const [id, status] of [
        [gateway.id, 200],
        [link, 200],
        [device, 404],
        [software, 404],
      ] as const)
        assert.equal((await manager.exchange(inventory, operation, { params: { id } })).status, status, operation)
    for (const query of [
      { limit: 100 },
      { filter: "functional_object_type in ('Device', 'SoftwareArtifact')" },
      { q: 'a' },
    ]) {
      const { data, meta } = await manager.inventory.listAssets({ query })
      assert.equal(meta.totalElements, data.length)
      const ids = data.map(({ id }) => id)
      assert.ok(!ids.includes(device) && !ids.includes(software))
    }
    const { data: types } = await manager.inventory.readFacets({ query: { by: 'functional_object_type' } })
    assert.ok(types.every(({ value }) => value !== 'Device'))
    const { data: topology } = await manager.inventory.readTopology({ query: {} })
    assert.ok(topology.nodes.every(({ functional_object_type: type }) => type !== 'Device'))
  })

  test('allows the role credential_manager to list the credential instances of a link', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const credentialSchemas = [
      { uri: 'urn:link:credentials', schema: JSON.stringify({ ...schema, title: 'From link' }) },
    ]
    const link = linkReport({
      credentialSchemas,
      product: { vendor: 'Example', name: 'Reference link', version: '9.0.0' },
    })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })

    const { data: running } = await manager.inventory.listAssets({
      query: { relationsFilter: `object.id eq '${gateway.id}' and predicate eq 'is_running_on'` },
    })
    const [asset] = running as {
      id: string
      product_instance_information: { manufacturer_product: Record<string, string> }
    }[]
    const { product_id = '', product_version = '' } = asset?.product_instance_information.manufacturer_product ?? {}
    assert.deepEqual([product_id, product_version], [product.identifier, '9.0.0'])

    const fromLink = await call('createSchemaFromLink', { body: { data: { assetId: asset?.id } } })
    assert.equal(fromLink.status, 201)
    const { data: taken } = fromLink.body as { data: { id: string; uri: string; title: string } }
    assert.deepEqual([taken.uri, taken.title], ['urn:link:credentials', 'From link'])
    const uploaded = await upload(product_version)
    assert.equal(uploaded.status, 200)
    assert.equal(uploaded.headers.get('location'), fromLink.headers.get('location'))
    assert.equal((await createTestInstance(manager, taken.id)).resourceVersion, '9.0.0')
  })

  test('stores several credential schemas of a link, one for each URI', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const credentialSchemas = ['user', 'certificate'].map((kind) => ({
      uri: `urn:link:credentials:${kind}`,
      schema: JSON.stringify({ ...schema, title: kind }),
    }))
    const link = linkReport({
      credentialSchemas,
      product: { vendor: 'Example', name: 'Reference link', version: '9.1.0' },
    })
    await gateway.gatekeeper.reportLinks({ body: { data: { gatewayVersion: '1.0.0', links: [link] } } })
    const { data: running } = await manager.inventory.listAssets({
      query: { relationsFilter: `object.id eq '${gateway.id}' and predicate eq 'is_running_on'` },
    })
    const assetId = (running as { id: string }[])[0]?.id
    const take = async (uri?: string) => {
      const answer = await call('createSchemaFromLink', { body: { data: { assetId, ...(uri && { uri }) } } })
      const { data } = answer.body as { data: { id: string; title: string } }
      return { status: answer.status, ...data }
    }
    const user = await take()
    const certificate = await take('urn:link:credentials:certificate')
    assert.deepEqual([user.status, user.title], [201, 'user'])
    assert.deepEqual([certificate.status, certificate.title], [201, 'certificate'])
    const again = await take('urn:link:credentials:certificate')
    assert.deepEqual([again.status, again.id], [200, certificate.id])

    const metadata = { ipRanges: ['10.81.0.0/24'] }
    const made = [
      await createTestInstance(manager, user.id, { metadata }),
      await createTestInstance(manager, certificate.id, { metadata }),
    ]
    assert.deepEqual(
      made.map(({ schemaUri }) => schemaUri),
      ['urn:link:credentials:user', 'urn:link:credentials:certificate'],
    )
    const unused = await take('urn:link:credentials:certificate')
    await manager.credentials.deleteInstance({ params: { instanceId: made[1]?.id ?? '' } })
    const renamed = await call('updateSchema', {
      params: { schemaId: unused.id },
      body: { data: { uri: 'urn:link:credentials:user' } },
    })
    assert.deepEqual(codeOf(renamed), [409, 'conflict'])
  })

  test('records denied requests for credentials in the audit trail', async (context) => {
    const viewer = await hub.as('viewer')
    const { id } = await createTestInstance(manager, await uploadTestSchema(admin))
    const params = { instanceId: id }
    assert.equal((await call('updateInstance', { params, body: { data: { name: 'mine' } } }, viewer)).status, 403)
    assert.equal((await call('deleteInstance', { params }, viewer)).status, 403)
    const denied = async () => {
      const query = { principal: viewer.principalId, outcome: 'denied' as const }
      return (await admin.audit.listEntries({ query })).data.map(({ action }) => action).toSorted()
    }
    await context.waitFor(async () =>
      assert.deepEqual(await denied(), ['credentials.deleteInstance', 'credentials.updateInstance']),
    )
  })

  test('returns 409 for a link without a credential schema, and 422 for an asset that is not a link', async () => {
    const gateway = await enrolledGateway(hub, admin)
    const bare = linkReport({ product: { vendor: 'Example', name: 'Bare', version: '8.0.0' } })
    const broken = linkReport({ appInstanceId: 'broken', credentialSchemas: [{ uri: 'urn:x', schema: '{' }] })
    const { data } = await gateway.gatekeeper.reportLinks({
      body: { data: { gatewayVersion: '1.0.0', links: [bare, broken] } },
    })
    const ids = new Map(data.map(({ appInstanceId, assetId }) => [appInstanceId, assetId]))
    const take = (assetId: string | undefined, more = {}) =>
      call('createSchemaFromLink', { body: { data: { assetId, ...more } } }).then(codeOf)
    assert.deepEqual(await take(ids.get(bare.appInstanceId)), [409, 'link_without_schema'])
    assert.deepEqual(await take(ids.get('broken')), [400, 'invalid_schema'])
    assert.deepEqual(await take(ids.get('broken'), { uri: 'urn:other' }), [409, 'link_without_schema'])
    assert.deepEqual(await take(await createTestAsset(admin, 'no link')), [422, 'asset_not_found'])
    const body = { data: { assetId: await createTestAsset(admin, 'also not a link') } }
    assert.deepEqual(codeOf(await call('createSchemaFromLink', { body }, admin)), [422, 'link_not_found'])
    assert.deepEqual(await take(nowhere), [422, 'asset_not_found'])
  })
})
