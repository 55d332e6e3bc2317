import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { access, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { createCertificate, createMinisignKey, signCms, usageIds } from '@millwright/api/signature-testing.ts'
import { updateLimits } from '@millwright/api/updates.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { readUsableArtefact } from './artefact-view.ts'
import { createArtefact, offsetOf, putContent, readContent, uploadArtefact } from './content-store/testing.ts'

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'none',
    (error: { code?: string }) => error.code ?? String(error),
  )
}

describe('artefacts', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('creates, lists, finds, changes and deletes artefacts', async () => {
    const bytes = randomBytes(100)
    const created = await createArtefact(admin, bytes, { name: 'Valve firmware', products: ['VALVE-7', 'Valve'] })
    assert.deepEqual(created.content, { state: 'missing', receivedBytes: 0 })
    assert.equal(created.signature.state, 'missing')
    assert.equal(created.isUsable, false)
    const find = async (query: object) =>
      (await admin.updates.listArtefacts({ query })).data.filter(({ id }) => id === created.id).length
    assert.equal(await find({}), 1)
    assert.equal(await find({ kind: 'firmware', manufacturer: 'EXAMPLE', product: 'valve-7', q: 'VALVE' }), 1)
    assert.equal(await find({ kind: 'backup' }), 0)
    assert.equal(await find({ product: 'VALVE' }), 1)
    assert.equal(await find({ product: 'VAL' }), 0)
    assert.equal(await find({ manufacturer: 'other' }), 0)
    assert.equal(await find({ q: 'pump' }), 0)
    const { data: changed } = await admin.updates.updateArtefact({
      params: { id: created.id },
      body: {
        data: { name: 'Renamed', hardwareVersions: ['1'], requires: [{ from: '>=1.0 <2.0' }], releaseNotes: 'x' },
      },
    })
    assert.deepEqual([changed.name, changed.hardwareVersions, changed.products], ['Renamed', ['1'], created.products])
    const { data: reset } = await admin.updates.updateArtefact({
      params: { id: created.id },
      body: { data: { hardwareVersions: null } },
    })
    assert.equal(reset.hardwareVersions, undefined)
    assert.deepEqual(reset.requires, [{ from: '>=1.0 <2.0' }])
    await admin.updates.deleteArtefact({ params: { id: created.id } })
    assert.equal(await codeOf(admin.updates.readArtefact({ params: { id: created.id } })), 'not_found')
    const { data: entries } = await admin.audit.listEntries({ query: { target: `artefact/${created.id}` } })
    assert.deepEqual(entries.map(({ action }) => action).toSorted(), [
      'updates.createArtefact',
      'updates.deleteArtefact',
      'updates.updateArtefact',
      'updates.updateArtefact',
    ])
  })

  test('refuses artefacts with an invalid range of versions or an invalid signature', async () => {
    const bytes = randomBytes(10)
    assert.equal(await codeOf(createArtefact(admin, bytes, { requires: [{ from: '>=' }] })), 'invalid_version_range')
    assert.equal(await codeOf(createArtefact(admin, bytes, { signature: 'nothing' })), 'invalid_signature')
  })

  test('lets users with glb_jobs_read read artefacts, and only users with glb_update_manage change them', async () => {
    const { id } = await uploadArtefact(hub, admin, randomBytes(10))
    await admin.authorization.createRole({ body: { data: { name: 'job-reader', permissions: ['glb_jobs_read'] } } })
    const reader = await hub.as('job-reader')
    assert.equal((await reader.updates.readArtefact({ params: { id } })).data.id, id)
    assert.equal(await codeOf(createArtefact(reader, randomBytes(10))), 'forbidden')
    assert.equal(await codeOf(reader.updates.deleteArtefact({ params: { id } })), 'forbidden')
    assert.equal((await readContent(hub, reader, { id })).status, 403)
    assert.equal((await putContent(hub, reader, { id, bytes: randomBytes(1) })).status, 403)
  })

  test('hides the artefacts of other tenants, and does not share contents between tenants', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await uploadArtefact(hub, admin, bytes)
    const stranger = await hub.as('administrator', { tenant: await hub.anotherTenant() })
    assert.equal(await codeOf(stranger.updates.readArtefact({ params: { id } })), 'not_found')
    assert.equal((await readContent(hub, stranger, { id })).status, 404)
    assert.equal((await putContent(hub, stranger, { id, bytes })).status, 404)
    const { content } = await createArtefact(stranger, bytes)
    assert.equal(content.state, 'missing')
  })

  test('stores the content of equal artefacts once, and deletes it with the last artefact', async () => {
    const bytes = randomBytes(5_000)
    const one = await uploadArtefact(hub, admin, bytes)
    const other = await createArtefact(admin, bytes, { name: 'The same content' })
    assert.deepEqual(other.content, { state: 'complete', receivedBytes: bytes.length })
    const path = await pathOf(hub, one.sha256)
    await admin.updates.deleteArtefact({ params: { id: one.id } })
    await hub.settle()
    assert.deepEqual((await readContent(hub, admin, { id: other.id })).bytes, bytes)
    await admin.updates.deleteArtefact({ params: { id: other.id } })
    await hub.settle()
    await assert.rejects(access(path), { code: 'ENOENT' })
    assert.equal((await createArtefact(admin, bytes)).content.state, 'missing')
  })

  test('completes all artefacts that wait for the same content when one of them is uploaded', async () => {
    const bytes = randomBytes(3_000)
    const [one, other] = [await createArtefact(admin, bytes), await createArtefact(admin, bytes)]
    await putContent(hub, admin, { id: other.id, bytes: bytes.subarray(0, 100), range: 'bytes 0-99/3000' })
    assert.equal((await putContent(hub, admin, { id: one.id, bytes })).status, 200)
    const { data } = await admin.updates.readArtefact({ params: { id: other.id } })
    assert.deepEqual(data.content, { state: 'complete', receivedBytes: bytes.length })
    await hub.settle()
    const names = await readdir(join(folderOf(hub), 'uploads'))
    assert.deepEqual(names, [])
  })

  test('publishes events about the changes of artefacts', async () => {
    const { id } = await uploadArtefact(hub, admin, randomBytes(10))
    await admin.updates.deleteArtefact({ params: { id } })
    await hub.settle()
    const { data } = await admin.events.listEvents({ query: { limit: 100 } })
    const types = data.filter(({ subject }) => subject === `artefact/${id}`).map(({ type }) => type)
    const name = 'io.millwright.updates.artefact'
    assert.deepEqual(types, [`${name}.created`, `${name}.completed`, `${name}.deleted`])
  })

  test('deletes artefacts whose upload is not completed after some days', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await createArtefact(admin, bytes)
    await putContent(hub, admin, { id, bytes: bytes.subarray(0, 10), range: 'bytes 0-9/1000' })
    const days = updateLimits.uploadDays + 1
    await runUploadTask(hub)
    assert.equal(await offsetOf(hub, admin, id), 10)
    await hub.asOwner(async (owner) => {
      const before = new Date(Date.now() - days * 86_400_000)
      const values = [hub.tenant.tenantId, id, before]
      await owner.query('update artefacts set created_at = $3 where tenant_id = $1 and id = $2', values)
      await owner.query('update artefact_uploads set modified_at = $3 where tenant_id = $1 and id = $2', values)
    })
    await runUploadTask(hub)
    assert.equal(await codeOf(admin.updates.readArtefact({ params: { id } })), 'not_found')
  })
})

describe('signatures', () => {
  let hub: TestHub
  let admin: TestCaller
  const root = createCertificate('Example root', { isAuthority: true })
  const signer = createCertificate('Example signer', { issuer: root, usages: [usageIds.codeSigning] })
  const key = createMinisignKey()

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    await admin.updates.createTrustAnchor({ body: { data: { name: 'Root', publicKey: root.pem } } })
    await admin.updates.createTrustAnchor({ body: { data: { name: 'Key', publicKey: key.publicKey } } })
  })

  after(() => hub[Symbol.asyncDispose]())

  async function usable(id: string): Promise<string> {
    const { tenantId, name: tenantName } = hub.tenant
    return codeOf(readUsableArtefact(hub.contextOf('updates'), systemCaller({ tenantId, tenantName }), id))
  }

  test('an unsigned artefact cannot be installed, unless the tenant allows it', async () => {
    const { id, isUsable, problem } = await uploadArtefact(hub, admin, randomBytes(50))
    assert.deepEqual([isUsable, problem?.code, await usable(id)], [false, 'signature_missing', 'artefact_not_usable'])
    await admin.updates.putSettings({ body: { data: { allowsUnsigned: true } } })
    try {
      const { data } = await admin.updates.readArtefact({ params: { id } })
      assert.deepEqual([data.isUsable, data.signature.state, await usable(id)], [true, 'missing', 'none'])
      const { data: entries } = await admin.audit.listEntries({ query: { action: 'updates.putSettings' } })
      assert.equal(entries.length, 1)
      assert.deepEqual((await admin.updates.readSettings({})).data, { allowsUnsigned: true })
    } finally {
      await admin.updates.putSettings({ body: { data: { allowsUnsigned: false } } })
    }
    assert.equal(await usable(id), 'artefact_not_usable')
  })

  test('an artefact with a signature that a trust anchor confirms can be installed', async () => {
    for (const sign of [(bytes: Buffer) => signCms(bytes, { signer }), (bytes: Buffer) => key.sign(bytes)]) {
      const bytes = randomBytes(500)
      const before = await createArtefact(admin, bytes, { signature: sign(bytes) })
      assert.equal(before.signature.state, 'unchecked')
      assert.equal((await putContent(hub, admin, { id: before.id, bytes })).status, 200)
      const { data } = await admin.updates.readArtefact({ params: { id: before.id } })
      assert.equal(data.signature.state, 'valid')
      assert.ok(data.signature.signer === 'CN=Example signer' || data.signature.signer === key.keyId)
      assert.deepEqual([data.isUsable, await usable(data.id)], [true, 'none'])
    }
  })

  test('an artefact with the signature of another content is never installed', async () => {
    const bytes = randomBytes(500)
    const signature = signCms(randomBytes(10), { signer })
    const { id, signature: stored, isUsable } = await uploadArtefact(hub, admin, bytes, { signature })
    assert.deepEqual([stored.state, isUsable], ['invalid', false])
    await admin.updates.putSettings({ body: { data: { allowsUnsigned: true } } })
    assert.equal(await usable(id), 'artefact_not_usable')
    await admin.updates.putSettings({ body: { data: { allowsUnsigned: false } } })
  })

  test('a signature can be added later, and the signature of another content does not replace it', async () => {
    const bytes = randomBytes(500)
    const { id } = await uploadArtefact(hub, admin, bytes)
    const put = (signature: string) => admin.updates.putSignature({ params: { id }, body: { data: { signature } } })
    assert.equal((await put(key.sign(bytes))).data.signature.state, 'valid')
    assert.equal(await codeOf(put(key.sign(randomBytes(5)))), 'invalid_signature')
    assert.equal(await codeOf(put('nothing')), 'invalid_signature')
    const { data } = await admin.updates.readArtefact({ params: { id } })
    assert.deepEqual([data.signature.state, data.signature.format], ['valid', 'minisign'])
    assert.equal((await put(signCms(bytes, { signer, digest: 'sha512' }))).data.signature.format, 'cms')
  })

  test('an expired certificate and a certificate of an unknown authority are not trusted', async () => {
    const bytes = randomBytes(500)
    const notBefore = new Date(Date.now() - 10 * 86_400_000)
    const notAfter = new Date(Date.now() - 86_400_000)
    const expired = createCertificate('Expired', { issuer: root, notBefore, notAfter })
    const one = await uploadArtefact(hub, admin, bytes, { signature: signCms(bytes, { signer: expired }) })
    assert.deepEqual([one.signature.state, one.isUsable], ['untrusted', false])
    assert.match(one.problem?.detail ?? '', /expired/)
    const stranger = createCertificate('Stranger')
    const other = await createArtefact(admin, bytes, { signature: signCms(bytes, { signer: stranger }) })
    assert.equal(other.signature.state, 'untrusted')
    assert.equal(await usable(other.id), 'artefact_not_usable')
  })

  test('a signature is not trusted after its certificate has expired', async () => {
    const bytes = randomBytes(500)
    const { id } = await uploadArtefact(hub, admin, bytes, { signature: signCms(bytes, { signer }) })
    await hub.asOwner((owner) =>
      owner.query(
        `update artefacts set signature_expires_at = now() - interval '1 minute' where tenant_id = $1 and id = $2`,
        [hub.tenant.tenantId, id],
      ),
    )
    const { data } = await admin.updates.readArtefact({ params: { id } })
    assert.deepEqual([data.signature.state, data.isUsable], ['untrusted', false])
    assert.equal(await usable(id), 'artefact_not_usable')
  })

  test('signatures are checked again after a trust anchor was created or deleted', async () => {
    const other = createCertificate('Another authority', { isAuthority: true })
    const own = createCertificate('Another signer', { issuer: other })
    const bytes = randomBytes(500)
    const { id } = await uploadArtefact(hub, admin, bytes, { signature: signCms(bytes, { signer: own }) })
    const stateOf = async () => (await admin.updates.readArtefact({ params: { id } })).data.signature.state
    assert.equal(await stateOf(), 'untrusted')
    const create = (publicKey: string) =>
      admin.updates.createTrustAnchor({ body: { data: { name: 'Another', publicKey } } })
    const { data: anchor } = await create(other.pem)
    await hub.settle()
    assert.equal(await stateOf(), 'valid')
    const { data: second } = await create(own.pem)
    await admin.updates.deleteTrustAnchor({ params: { id: anchor.id } })
    // The trust ends with the request, before any task runs. The other anchor confirms the signature too.
    await hub.settle()
    assert.equal(await stateOf(), 'valid')
    await admin.updates.deleteTrustAnchor({ params: { id: second.id } })
    assert.equal(await stateOf(), 'untrusted')
    assert.equal(await usable(id), 'artefact_not_usable')
    await hub.settle()
    assert.equal(await stateOf(), 'untrusted')
  })

  test('trust anchors are listed, and refused twice and if they are not valid', async () => {
    const { data } = await admin.updates.listTrustAnchors({ query: {} })
    assert.deepEqual(
      data.map(({ name, format }) => [name, format]),
      [
        ['Root', 'certificate'],
        ['Key', 'minisign-key'],
      ],
    )
    const create = (publicKey: string) => admin.updates.createTrustAnchor({ body: { data: { name: 'x', publicKey } } })
    assert.equal(await codeOf(create(root.pem)), 'already_exists')
    assert.equal(await codeOf(create('nothing')), 'invalid_trust_anchor')
    const operator = await hub.as('operator')
    const body = { data: { name: 'x', publicKey: root.pem } }
    assert.equal(await codeOf(operator.updates.createTrustAnchor({ body })), 'forbidden')
    assert.equal(await codeOf(operator.updates.putSettings({ body: { data: { allowsUnsigned: true } } })), 'forbidden')
    const missing = admin.updates.deleteTrustAnchor({ params: { id: '01980000-0000-7000-8000-000000000000' } })
    assert.equal(await codeOf(missing), 'not_found')
  })
})

function folderOf(hub: TestHub): string {
  return join(hub.contextOf('updates').settings.artefacts.folder, hub.tenant.tenantId)
}

async function pathOf(hub: TestHub, sha256: string): Promise<string> {
  const location = await hub.asOwner(async (owner) => {
    const { rows } = await owner.query<{ location: string }>(
      'select location from artefact_contents where tenant_id = $1 and sha256 = $2',
      [hub.tenant.tenantId, sha256],
    )
    return rows[0]?.location ?? ''
  })
  const path = join(folderOf(hub), location)
  await access(path)
  return path
}

/** Runs the task that deletes abandoned uploads now. */
async function runUploadTask(hub: TestHub): Promise<void> {
  const { database, tasks } = hub.contextOf('updates')
  await database.transaction(hub.tenant, (tx) => tasks.enqueue(tx, { kind: 'updates.uploads' }))
  await hub.settle()
}
