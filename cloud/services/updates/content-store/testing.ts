import { createHash } from 'node:crypto'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { growingPause } from '@millwright/api/test-effort.ts'
import type { Artefact } from '@millwright/api/updates.ts'
import type { RawAnswer, TestCaller, TestHub } from '../../../platform/testing/hub.ts'

/** Artefacts for tests. */

export function sha256Of(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

export async function createArtefact(
  admin: TestCaller,
  bytes: Uint8Array,
  changes: Partial<Pick<Artefact, 'name' | 'version' | 'kind' | 'sha256' | 'size' | 'products' | 'requires'>> & {
    signature?: string
  } = {},
): Promise<Artefact> {
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
        ...changes,
      },
    },
  })
  return data
}

export function contentPath(id: string): string {
  return `/updates/v1/artefacts/${id}/content`
}

/** Sends bytes of a content. Without a range, the bytes are the whole content. */
export function putContent(
  hub: TestHub,
  { token }: Pick<TestCaller, 'token'>,
  { id, bytes, range }: { id: string; bytes: Uint8Array; range?: string },
): Promise<RawAnswer> {
  return hub.request({
    method: 'PUT',
    path: contentPath(id),
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      ...(range === undefined ? {} : { 'content-range': range }),
    },
    body: bytes,
  })
}

/** Creates an artefact with its content. */
export async function uploadArtefact(
  hub: TestHub,
  admin: TestCaller,
  bytes: Uint8Array,
  changes: Parameters<typeof createArtefact>[2] = {},
): Promise<Artefact> {
  const created = await createArtefact(admin, bytes, changes)
  if (created.content.state === 'complete') return created
  const { status, text, body } = await putContent(hub, admin, { id: created.id, bytes })
  if (status !== 200) throw new Error(`The upload failed: ${text}`)
  return (body as { data: Artefact }).data
}

export function readContent(
  hub: TestHub,
  { token }: Pick<TestCaller, 'token'>,
  { id, range }: { id: string; range?: string },
): Promise<RawAnswer> {
  const headers = { authorization: `Bearer ${token}`, ...(range === undefined ? {} : { range }) }
  return hub.request({ method: 'GET', path: contentPath(id), headers })
}

/** Returns the number of stored bytes. */
export async function offsetOf(hub: TestHub, { token }: Pick<TestCaller, 'token'>, id: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` }
  const { status, headers: received } = await hub.request({ method: 'HEAD', path: contentPath(id), headers })
  if (status !== 204) throw new Error(`The offset cannot be read (HTTP status ${status})`)
  return Number(received.get('upload-offset'))
}

export type OpenUploadRequest = { request: ClientRequest; response: Promise<IncomingMessage> }

/** Starts an upload over a socket. The test sends the bytes, and can break the connection. */
export function startUpload(
  url: string,
  { token, id, range, length }: { token: string; id: string; range: string; length: number },
): OpenUploadRequest {
  const request = httpRequest(new URL(contentPath(id), url), {
    method: 'PUT',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/octet-stream',
      'content-range': range,
      'content-length': String(length),
    },
  })
  const response = new Promise<IncomingMessage>((resolve, reject) =>
    request.on('response', resolve).on('error', reject),
  )
  response.catch(() => {})
  request.flushHeaders()
  return { request, response }
}

export async function problemOf(response: IncomingMessage): Promise<{ status: number; code: string }> {
  return { status: response.statusCode ?? 0, code: (JSON.parse(await text(response)) as { code: string }).code }
}

export async function until(holds: () => boolean | Promise<boolean>, withinMs = 120_000): Promise<void> {
  const pause = growingPause()
  for (const deadline = performance.now() + withinMs; performance.now() < deadline; await pause())
    if (await holds()) return
  throw new Error(`The condition was not met within ${withinMs} ms`)
}
