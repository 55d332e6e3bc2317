import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { describe, test } from 'node:test'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'

const content = randomBytes(300_000)

function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

async function createArtefact(admin: TestCaller, bytes: Uint8Array = content, more: Record<string, unknown> = {}) {
  const { data } = await admin.updates.createArtefact({
    body: {
      data: {
        name: 'Firmware of the pump',
        manufacturer: 'Example',
        products: ['PUMP-1'],
        version: '2.0.0',
        kind: 'firmware',
        sha256: sha256Of(bytes),
        size: bytes.length,
        ...more,
      },
    },
  })
  return data
}

function putPart(hub: TestHub, admin: TestCaller, id: string, part: { bytes: Uint8Array; range?: string }) {
  return hub.request({
    method: 'PUT',
    path: `/updates/v1/artefacts/${id}/content`,
    headers: {
      authorization: `Bearer ${admin.token}`,
      'content-type': 'application/octet-stream',
      ...(part.range === undefined ? {} : { 'content-range': part.range }),
    },
    body: part.bytes,
  })
}

describe('uploads', () => {
  test('stores a content that arrives in parts', async () => {
    await using hub = await testHub()
    const admin = await hub.as('administrator')
    const { id } = await createArtefact(admin)
    const first = await putPart(hub, admin, id, { bytes: content.subarray(0, 100_000), range: 'bytes 0-99999/300000' })
    assert.equal(first.status, 202, first.text)
    const head = await hub.request({
      method: 'HEAD',
      path: `/updates/v1/artefacts/${id}/content`,
      headers: { authorization: `Bearer ${admin.token}` },
    })
    assert.equal(head.status, 204)
    assert.equal(head.headers.get('upload-offset'), '100000')
    const second = await putPart(hub, admin, id, { bytes: content.subarray(100_000), range: 'bytes 100000-299999/300000' })
    assert.equal(second.status, 200, second.text)
    const got = await hub.request({
      method: 'GET',
      path: `/updates/v1/artefacts/${id}/content`,
      headers: { authorization: `Bearer ${admin.token}`, range: 'bytes=10-19' },
    })
    assert.equal(got.status, 206)
    assert.deepEqual(got.bytes, content.subarray(10, 20))
  })
})
