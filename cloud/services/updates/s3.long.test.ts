import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { freePort } from '@millwright/api/port-testing.ts'
import { AwsClient } from 'aws4fetch'
import type { S3Settings } from '../../platform/service.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { createArtefact, offsetOf, putContent, readContent, until } from './content-store/testing.ts'

/** The S3-compatible store is moto, a Python package. Without it, the tests are skipped. */
const python = process.env.MILLWRIGHT_TEST_PYTHON ?? 'python3'
const isInstalled = spawnSync(python, ['-c', 'import moto.server']).status === 0
const skip = isInstalled ? false : 'moto is not installed: pip install "moto[server]", or set MILLWRIGHT_TEST_PYTHON'

const mebibyte = 1024 * 1024

describe('the S3-compatible store', { skip }, () => {
  let store: ChildProcess
  let s3: S3Settings
  let hub: TestHub
  let admin: TestCaller
  let folder: string

  before(async () => {
    const port = await freePort()
    store = spawn(python, ['-m', 'moto.server', '-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' })
    const endpoint = `http://127.0.0.1:${port}`
    s3 = {
      endpoint,
      region: 'us-east-1',
      bucket: 'artefacts',
      prefix: 'plant/one',
      accessKey: 'test',
      secretKey: 'not-a-secret',
    }
    await until(async () => (await fetch(endpoint).catch(() => undefined))?.ok === true)
    await s3Request('PUT', '/artefacts')
    folder = await mkdtemp(join(tmpdir(), 'millwright-s3-'))
    hub = await testHub({ artefacts: { folder, s3 }, outboundAllow: ['127.0.0.1'], arrangement: 'one process' })
    admin = await hub.as('administrator')
  })

  after(async () => {
    await hub[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
    store.kill()
    await once(store, 'exit')
  })

  async function s3Request(method: string, path: string): Promise<Response> {
    const client = new AwsClient({
      accessKeyId: 'test',
      secretAccessKey: 'not-a-secret',
      service: 's3',
      region: 'us-east-1',
    })
    return client.fetch(`${s3.endpoint}${path}`, { method })
  }

  async function objects(): Promise<string[]> {
    const text = await (await s3Request('GET', '/artefacts?list-type=2')).text()
    return [...text.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => key)
  }

  async function multipartUploads(): Promise<number> {
    const text = await (await s3Request('GET', '/artefacts?uploads')).text()
    return text.match(/<UploadId>/g)?.length ?? 0
  }

  async function tails(): Promise<string[]> {
    return readdir(join(folder, hub.tenant.tenantId, 'uploads')).catch(() => [])
  }

  function put(id: string, bytes: Buffer, [first, end]: [number, number], by = hub) {
    const range = `bytes ${first}-${end - 1}/${bytes.length}`
    return putContent(by, admin, { id, bytes: bytes.subarray(first, end), range })
  }

  test('stores a content that arrives in parts of any size', async () => {
    const bytes = randomBytes(20 * mebibyte + 123)
    const { id } = await createArtefact(admin, bytes)
    const ends = [1_000, 9 * mebibyte, 17 * mebibyte + 5, bytes.length]
    let first = 0
    for (const end of ends) {
      const answer = await put(id, bytes, [first, end])
      assert.equal(answer.status, end === bytes.length ? 200 : 202, answer.text)
      assert.equal(await offsetOf(hub, admin, id), end)
      first = end
    }
    const keys = await objects()
    assert.ok(keys.length === 1 && keys[0]?.startsWith(`plant/one/${hub.tenant.tenantId}/`), String(keys))
    assert.deepEqual(await tails(), [])
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    const part = await readContent(hub, admin, { id, range: 'bytes=10000000-10000009' })
    assert.deepEqual([part.status, part.bytes], [206, bytes.subarray(10_000_000, 10_000_010)])
    await admin.updates.deleteArtefact({ params: { id } })
    await hub.settle()
    assert.deepEqual(await objects(), [])
  })

  test('stores a small content in one request, and discards a content with another hash', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await createArtefact(admin, bytes)
    assert.equal((await putContent(hub, admin, { id, bytes: Buffer.alloc(1_000) })).status, 422)
    await hub.settle()
    assert.deepEqual([await objects(), await tails()], [[], []])
    assert.equal((await putContent(hub, admin, { id, bytes })).status, 200)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    await admin.updates.deleteArtefact({ params: { id } })
  })

  test('continues an upload in another process, and computes the hash from the stored bytes', async () => {
    const bytes = randomBytes(10 * mebibyte)
    const { id } = await createArtefact(admin, bytes)
    assert.equal((await put(id, bytes, [0, 9 * mebibyte])).status, 202)
    await using other = await hub.sibling({ artefacts: { folder, s3 }, outboundAllow: ['127.0.0.1'] })
    assert.equal((await put(id, bytes, [9 * mebibyte, bytes.length], other)).status, 200)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
  })

  test('continues after the last complete part if the files of the process are lost', async () => {
    const bytes = randomBytes(10 * mebibyte)
    const { id } = await createArtefact(admin, bytes)
    assert.equal((await put(id, bytes, [0, 9 * mebibyte])).status, 202)
    for (const name of await tails()) await rm(join(folder, hub.tenant.tenantId, 'uploads', name))
    const offset = await offsetOf(hub, admin, id)
    assert.equal(offset, 8 * mebibyte)
    assert.equal((await put(id, bytes, [offset, bytes.length])).status, 200)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
  })

  test('starts again from the first byte, and aborts the upload of a deleted artefact', async () => {
    const bytes = randomBytes(9 * mebibyte)
    const { id } = await createArtefact(admin, bytes)
    await put(id, bytes, [0, 8 * mebibyte + 1])
    await put(id, bytes, [0, 8 * mebibyte + 7])
    assert.equal(await multipartUploads(), 1)
    assert.equal(await offsetOf(hub, admin, id), 8 * mebibyte + 7)
    await admin.updates.deleteArtefact({ params: { id } })
    await hub.settle()
    assert.equal(await multipartUploads(), 0)
    assert.deepEqual(await tails(), [])
  })

  test('returns 503 when the store is not available, and keeps the stored bytes', async () => {
    const bytes = randomBytes(9 * mebibyte)
    const { id } = await createArtefact(admin, bytes)
    await put(id, bytes, [0, 8 * mebibyte + 1])
    const broken = { ...s3, endpoint: `http://127.0.0.1:${await freePort()}` }
    await using other = await hub.sibling({ artefacts: { folder, s3: broken }, outboundAllow: ['127.0.0.1'] })
    const answer = await put(id, bytes, [8 * mebibyte + 1, bytes.length], other)
    assert.equal(answer.status, 503, answer.text)
    assert.equal((answer.body as { code: string }).code, 'unavailable')
    const offset = await offsetOf(hub, admin, id)
    assert.ok(offset > 8 * mebibyte)
    const last = offset === bytes.length ? undefined : await put(id, bytes, [offset, bytes.length])
    const done =
      last ?? (await putContent(hub, admin, { id, bytes: Buffer.alloc(0), range: `bytes */${bytes.length}` }))
    assert.equal(done.status, 200, done.text)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
  })
})
