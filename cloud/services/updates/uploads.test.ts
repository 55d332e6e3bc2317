import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type FileHandle, open, readdir, rm } from 'node:fs/promises'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { onlyInLongRuns } from '@millwright/api/test-effort.ts'
import { newId } from '../../platform/database/id.ts'
import { type Arrangement, type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import {
  contentPath,
  createArtefact,
  offsetOf,
  problemOf,
  putContent,
  readContent,
  startUpload,
  until,
  uploadArtefact,
} from './content-store/testing.ts'

function codeIn({ body }: { body: unknown }): string {
  return (body as { code: string }).code
}

const size = 300_000
const content = randomBytes(size)

for (const arrangement of ['one process', 'split'] satisfies Arrangement[]) {
  describe(`uploads, ${arrangement}`, () => {
    let hub: TestHub
    let admin: TestCaller

    before(async () => {
      hub = await testHub({ arrangement })
      admin = await hub.as('administrator')
    })

    after(() => hub[Symbol.asyncDispose]())

    /** Returns the bytes of a new content, so that the tests do not share it. */
    const fresh = () => Buffer.concat([randomBytes(16), content.subarray(16)])

    test('a content arrives in parts', async () => {
      const bytes = fresh()
      const { id } = await createArtefact(admin, bytes)
      const put = (first: number, last: number) =>
        putContent(hub, admin, { id, bytes: bytes.subarray(first, last + 1), range: `bytes ${first}-${last}/${size}` })
      const first = await put(0, 99_999)
      assert.deepEqual([first.status, first.headers.get('upload-offset')], [202, '100000'])
      assert.equal(await offsetOf(hub, admin, id), 100_000)
      const { data } = await admin.updates.readArtefact({ params: { id } })
      assert.deepEqual(data.content, { state: 'partial', receivedBytes: 100_000 })
      assert.equal((await put(100_000, 199_999)).status, 202)
      assert.equal((await put(200_000, size - 1)).status, 200)
      assert.equal(await offsetOf(hub, admin, id), size)
      assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
      const again = await put(200_000, size - 1)
      assert.deepEqual([again.status, codeIn(again)], [409, 'conflict'])
    })

    test('a part at another offset, with another size or another length is refused', async () => {
      const bytes = fresh()
      const { id } = await createArtefact(admin, bytes)
      const put = (range: string, part: Uint8Array) => putContent(hub, admin, { id, bytes: part, range })
      await put(`bytes 0-9/${size}`, bytes.subarray(0, 10))
      const wrong = await put(`bytes 20-29/${size}`, bytes.subarray(20, 30))
      assert.deepEqual(
        [wrong.status, codeIn(wrong), wrong.headers.get('upload-offset')],
        [409, 'offset_mismatch', '10'],
      )
      for (const range of [`bytes 10-19/${size + 1}`, `bytes 10-20/${size}`, 'bytes 10-19/*', 'nothing'])
        assert.equal(codeIn(await put(range, bytes.subarray(10, 20))), 'invalid_header', range)
      assert.equal(codeIn(await putContent(hub, admin, { id, bytes: bytes.subarray(1) })), 'invalid_header')
      assert.equal(await offsetOf(hub, admin, id), 10)
      assert.equal((await putContent(hub, admin, { id, bytes })).status, 200)
    })

    test('a content with another hash is discarded, and can be sent again', async () => {
      const bytes = fresh()
      const { id } = await createArtefact(admin, bytes)
      const wrong = Buffer.from(bytes)
      wrong[5] = (wrong[5] ?? 0) ^ 1
      const answer = await putContent(hub, admin, { id, bytes: wrong })
      assert.deepEqual([answer.status, codeIn(answer)], [422, 'hash_mismatch'])
      assert.equal(await offsetOf(hub, admin, id), 0)
      assert.equal((await readContent(hub, admin, { id })).status, 409)
      await hub.settle()
      assert.equal((await putContent(hub, admin, { id, bytes })).status, 200)
      assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    })

    test('bytes that arrived before the connection was lost are stored', async () => {
      const bytes = fresh()
      const url = await hub.listen()
      const { id } = await createArtefact(admin, bytes)
      const range = `bytes 0-${size - 1}/${size}`
      const { request } = startUpload(url, { token: admin.token, id, range, length: size })
      await new Promise((resolve) => request.write(bytes.subarray(0, 200_000), resolve))
      // The bytes are on their way through several buffers.
      const folder = join(hub.contextOf('updates').settings.artefacts.folder, hub.tenant.tenantId, 'uploads')
      await until(async () => (await readdir(folder).catch(() => [])).length > 0)
      request.destroy()
      let offset = 0
      await until(async () => {
        offset = await offsetOf(hub, admin, id)
        return offset > 0
      })
      assert.ok(offset <= 200_000)
      const part = { id, bytes: bytes.subarray(offset), range: `bytes ${offset}-${size - 1}/${size}` }
      assert.equal((await putContent(hub, admin, part)).status, 200)
      assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    })

    test('a later request takes over the upload of a client that sends nothing', async () => {
      const bytes = fresh()
      const url = await hub.listen()
      const { id } = await createArtefact(admin, bytes)
      const range = `bytes 0-${size - 1}/${size}`
      const { request, response } = startUpload(url, { token: admin.token, id, range, length: size })
      await new Promise((resolve) => request.write(bytes.subarray(0, 70_000), resolve))
      const folder = join(hub.contextOf('updates').settings.artefacts.folder, hub.tenant.tenantId, 'uploads')
      await until(async () => (await readdir(folder).catch(() => [])).length > 0)
      assert.equal((await putContent(hub, admin, { id, bytes })).status, 200)
      assert.deepEqual(await problemOf(await response), { status: 409, code: 'conflict' })
      request.destroy()
      assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    })

    test('parallel uploads to one artefact end with the correct content', async () => {
      const bytes = fresh()
      const { id } = await createArtefact(admin, bytes)
      const answers = await Promise.all(Array.from({ length: 6 }, () => putContent(hub, admin, { id, bytes })))
      const statuses = answers.map(({ status }) => status)
      assert.equal(statuses.filter((status) => status === 200).length, 1, String(statuses))
      assert.ok(statuses.every((status) => status === 200 || status === 409))
      assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
    })

    test('ends the upload of an artefact that is deleted', async () => {
      const bytes = fresh()
      const url = await hub.listen()
      const { id } = await createArtefact(admin, bytes)
      const range = `bytes 0-${size - 1}/${size}`
      const { request, response } = startUpload(url, { token: admin.token, id, range, length: size })
      request.write(bytes.subarray(0, 100))
      await until(async () => {
        const uploads = await hub.asOwner((owner) =>
          owner.query('select from artefact_uploads where tenant_id = $1 and id = $2', [hub.tenant.tenantId, id]),
        )
        return uploads.rowCount === 1
      })
      await admin.updates.deleteArtefact({ params: { id } })
      request.end(bytes.subarray(100))
      const { status } = await problemOf(await response)
      assert.ok(status === 404 || status === 409, String(status))
      assert.equal((await readContent(hub, admin, { id })).status, 404)
    })

    test('ranges are sent as 206, and ranges outside the content are refused', async () => {
      const bytes = fresh()
      const { id } = await uploadArtefact(hub, admin, bytes)
      const read = (range?: string) => readContent(hub, admin, { id, ...(range === undefined ? {} : { range }) })
      const whole = await read()
      assert.equal(whole.status, 200)
      assert.equal(whole.headers.get('content-length'), String(size))
      assert.equal(whole.headers.get('accept-ranges'), 'bytes')
      assert.match(whole.headers.get('content-disposition') ?? '', /^attachment/)
      const part = await read('bytes=100-199')
      assert.deepEqual(
        [part.status, part.headers.get('content-range'), part.headers.get('content-length')],
        [206, `bytes 100-199/${size}`, '100'],
      )
      assert.deepEqual(part.bytes, bytes.subarray(100, 200))
      assert.deepEqual((await read('bytes=-10')).bytes, bytes.subarray(-10))
      assert.deepEqual((await read(`bytes=${size - 5}-`)).bytes, bytes.subarray(-5))
      assert.equal((await read('bytes=0-1,4-5')).status, 200)
      const outside = await read(`bytes=${size}-`)
      assert.deepEqual([outside.status, codeIn(outside)], [416, 'range_not_satisfiable'])
      assert.equal(outside.headers.get('content-range'), `bytes */${size}`)
    })

    test('a client that stops reading ends the download', async () => {
      const url = await hub.listen()
      const { id } = await uploadArtefact(hub, admin, randomBytes(4_000_000))
      const headers = { authorization: `Bearer ${admin.token}` }
      const request = httpRequest(new URL(contentPath(id), url), { headers })
      const response = await new Promise<IncomingMessage>((resolve) => request.on('response', resolve).end())
      await new Promise((resolve) => response.once('readable', resolve))
      response.destroy()
      const [one, other] = await Promise.all([readContent(hub, admin, { id }), readContent(hub, admin, { id })])
      assert.deepEqual([one.bytes.length, other.bytes.length], [4_000_000, 4_000_000])
    })
  })
}

describe('the home store', () => {
  let hub: TestHub
  let admin: TestCaller

  before(async () => {
    hub = await testHub({ arrangement: 'one process' })
    admin = await hub.as('administrator')
  })

  after(() => hub[Symbol.asyncDispose]())

  test('keeps accepted bytes when the disk is full, and the upload continues', async (t) => {
    const bytes = randomBytes(3_000_000)
    const { id } = await createArtefact(admin, bytes)
    await using probe = await open(new URL(import.meta.url))
    const prototype = Object.getPrototypeOf(probe) as FileHandle
    let written = 0
    const { write } = prototype
    async function limitedWrite(this: FileHandle, bytes: Buffer, offset: number, length: number, position: number) {
      if (written > 1_500_000) throw Object.assign(new Error('write failed'), { code: 'ENOSPC' })
      const rest = [bytes, offset, Math.min(length, 1_000_000), position] as const
      const result = await (write as (...values: unknown[]) => Promise<{ bytesWritten: number }>).apply(this, [...rest])
      written += result.bytesWritten
      return result
    }
    const full = t.mock.method(prototype, 'write', limitedWrite as never)
    const answer = await putContent(hub, admin, { id, bytes })
    full.mock.restore()
    assert.deepEqual([answer.status, codeIn(answer)], [507, 'storage_full'])
    const offset = await offsetOf(hub, admin, id)
    assert.ok(offset > 1_000_000 && offset < bytes.length, String(offset))
    const range = `bytes ${offset}-${bytes.length - 1}/${bytes.length}`
    assert.equal((await putContent(hub, admin, { id, bytes: bytes.subarray(offset), range })).status, 200)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
  })

  test('computes the hash from the stored bytes when another process continues the upload', async () => {
    const bytes = randomBytes(200_000)
    const { id } = await createArtefact(admin, bytes)
    await putContent(hub, admin, { id, bytes: bytes.subarray(0, 150_000), range: 'bytes 0-149999/200000' })
    const { artefacts } = hub.contextOf('updates').settings
    await using other = await hub.sibling({ artefacts })
    const rest = { id, bytes: bytes.subarray(150_000), range: 'bytes 150000-199999/200000' }
    assert.equal((await putContent(other, admin, rest)).status, 200)
    assert.deepEqual((await readContent(hub, admin, { id })).bytes, bytes)
  })

  test('completes an upload whose bytes are all stored', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await createArtefact(admin, bytes)
    await putContent(hub, admin, { id, bytes: bytes.subarray(0, 999), range: 'bytes 0-998/1000' })
    const early = await putContent(hub, admin, { id, bytes: Buffer.alloc(0), range: 'bytes */1000' })
    assert.deepEqual([early.status, codeIn(early)], [409, 'offset_mismatch'])
    // A process was stopped after the last byte was stored.
    const { artefacts } = hub.contextOf('updates').settings
    const name = await uploadName(hub, id)
    const file = join(artefacts.folder, hub.tenant.tenantId, 'uploads', name)
    await using handle = await open(file, 'r+')
    await handle.write(bytes, 999, 1, 999)
    await setReceived(hub, id, 1_000)
    assert.equal(await offsetOf(hub, admin, id), 1_000)
    const answer = await putContent(hub, admin, { id, bytes: Buffer.alloc(0), range: 'bytes */1000' })
    assert.equal(answer.status, 200, answer.text)
  })

  test('starts again if the file of an upload is lost', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await createArtefact(admin, bytes)
    await putContent(hub, admin, { id, bytes: bytes.subarray(0, 500), range: 'bytes 0-499/1000' })
    const { artefacts } = hub.contextOf('updates').settings
    await rm(join(artefacts.folder, hub.tenant.tenantId, 'uploads', await uploadName(hub, id)))
    assert.equal(await offsetOf(hub, admin, id), 0)
    assert.equal((await putContent(hub, admin, { id, bytes })).status, 200)
  })

  test('waits for the lease of a process that was killed', async () => {
    const bytes = randomBytes(1_000)
    const { id } = await createArtefact(admin, bytes)
    await putContent(hub, admin, { id, bytes: bytes.subarray(0, 500), range: 'bytes 0-499/1000' })
    await hub.asOwner((owner) =>
      owner.query(
        `update artefact_uploads set lease_id = $3, lease_expires_at = now() + interval '1 second'
         where tenant_id = $1 and id = $2`,
        [hub.tenant.tenantId, id, newId()],
      ),
    )
    const rest = { id, bytes: bytes.subarray(500), range: 'bytes 500-999/1000' }
    assert.equal((await putContent(hub, admin, rest)).status, 200)
  })

  test('sends and receives a large content with flat memory', onlyInLongRuns, async () => {
    const url = await hub.listen()
    const chunk = randomBytes(1024 * 1024)
    const chunks = 64
    // A sample collects garbage first, which takes long, so there are few samples.
    const chunksPerSample = 24
    const bytes = Buffer.concat(Array.from({ length: chunks }, () => chunk))
    const { id } = await createArtefact(admin, bytes)
    const length = bytes.length
    const collectGarbage = garbageCollector()
    const { request, response } = startUpload(url, {
      token: admin.token,
      id,
      range: `bytes 0-${length - 1}/${length}`,
      length,
    })
    const usedBytes = () => {
      collectGarbage()
      // Buffers are freed by another thread. The second collection waits until that thread has finished.
      collectGarbage()
      return process.memoryUsage().arrayBuffers
    }
    const before = usedBytes()
    let most = 0
    const sample = () => {
      most = Math.max(most, usedBytes() - before)
    }
    for (let index = 0; index < chunks; index++) {
      if (!request.write(chunk)) await new Promise((resolve) => request.once('drain', resolve))
      if (index % chunksPerSample === 0) sample()
    }
    request.end()
    assert.equal((await response).statusCode, 200)
    ;(await response).resume()
    const headers = { authorization: `Bearer ${admin.token}` }
    const download = httpRequest(new URL(contentPath(id), url), { headers })
    const received = await new Promise<IncomingMessage>((resolve) => download.on('response', resolve).end())
    let count = 0
    let sampled = 0
    for await (const part of received) {
      count += (part as Buffer).length
      if (count - sampled < chunksPerSample * chunk.length) continue
      sampled = count
      sample()
    }
    assert.equal(count, length)
    assert.ok(most < 40 * 1024 * 1024, `${most} bytes of buffers for a content of ${length} bytes`)
  })
})

/** Returns a function that frees memory that is not used, so that a test measures only used memory. */
function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc')
  return runInNewContext('gc') as () => void
}

async function uploadName(hub: TestHub, id: string): Promise<string> {
  const { rows } = await hub.asOwner((owner) =>
    owner.query('select upload_id from artefact_uploads where tenant_id = $1 and id = $2', [hub.tenant.tenantId, id]),
  )
  return rows[0]?.upload_id ?? ''
}

async function setReceived(hub: TestHub, id: string, bytes: number): Promise<void> {
  await hub.asOwner((owner) =>
    owner.query('update artefact_uploads set received_bytes = $3 where tenant_id = $1 and id = $2', [
      hub.tenant.tenantId,
      id,
      bytes,
    ]),
  )
}
