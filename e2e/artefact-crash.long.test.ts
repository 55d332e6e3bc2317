import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { bearer, type Caller, callerOf, databaseEnded, startPlatform, temporaryFolder, until } from './platform.ts'

const size = 48 * 1024 * 1024

test('continues an upload after the platform was killed, without the loss of confirmed bytes', async () => {
  using home = temporaryFolder()
  const content = randomBytes(size)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const first = await startPlatform({ home: home.path })
  const before = await callerOf(first)
  const { data } = await before.updates.createArtefact({
    body: {
      data: {
        name: 'Firmware',
        manufacturer: 'Example',
        products: ['P'],
        version: '1',
        kind: 'firmware',
        sha256,
        size,
      },
    },
  })
  const params = { id: data.id }
  const upload = httpRequest(new URL(`/updates/v1/artefacts/${data.id}/content`, first.baseUrl), {
    method: 'PUT',
    headers: {
      ...bearer(before.token),
      'content-type': 'application/octet-stream',
      'content-length': String(size),
      'content-range': `bytes 0-${size - 1}/${size}`,
    },
  })
  upload.on('error', () => {})
  upload.write(content.subarray(0, size - 1_000))
  await until('bytes are confirmed', async () => (await offsetOf(before, data.id)) > 0)
  const confirmed = await offsetOf(before, data.id)
  first.program.child.kill('SIGKILL')
  await first.program.ended
  await databaseEnded(home.path)

  await using second = await startPlatform({ home: home.path })
  const caller = await callerOf(second)
  const offset = await offsetOf(caller, data.id)
  assert.ok(offset >= confirmed && offset < size, `${confirmed} bytes were confirmed, ${offset} are stored`)
  const body = { mediaType: 'application/octet-stream', content: new Uint8Array(content.subarray(offset)) }
  const headers = { 'content-range': `bytes ${offset}-${size - 1}/${size}` }
  const { data: complete } = await caller.updates.putContent({ params, headers, body })
  assert.deepEqual(complete.content, { state: 'complete', receivedBytes: size })
  const stored = await caller.updates.readContent({ params })
  const hash = createHash('sha256')
  for await (const chunk of stored) hash.update(chunk)
  assert.equal(hash.digest('hex'), sha256)
})

async function offsetOf(caller: Caller, id: string): Promise<number> {
  let offset = 0
  await caller.updates.readUploadOffset({ params: { id } }, ({ headers }) => {
    offset = Number(headers.get('upload-offset'))
  })
  return offset
}
