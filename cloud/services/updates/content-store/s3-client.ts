import { Readable } from 'node:stream'
import type { ReadableStream } from 'node:stream/web'
import { setTimeout as sleep } from 'node:timers/promises'
import { Problem } from '@millwright/api/problem.ts'
import { AwsV4Signer } from 'aws4fetch'
import type { ByteRange } from '../../../platform/http/byte-ranges.ts'
import type { Outbound } from '../../../platform/outbound.ts'
import type { S3Settings } from '../../../platform/service.ts'
import { storageFull } from './disk.ts'

/** How long the store may take to answer. Reading the body of an object has no such limit. */
const answerMs = 60_000
/** The waiting times before an overloaded store gets a request again. */
const retryMs = [100, 200, 400]
/** The maximum size of an answer in XML. */
const answerBytes = 64 * 1024
const fullCodes = ['InsufficientStorage', 'QuotaExceeded', 'XMinioStorageFull', 'EntityTooLarge']

type S3Request = {
  method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  key: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer<ArrayBuffer>
}

type SignedRequest = {
  method: string
  url: URL
  headers: Record<string, string>
  body: Buffer<ArrayBuffer> | undefined
}

type Part = { multipartId: string; number: number; bytes: Buffer<ArrayBuffer> }

/**
 * `S3Client` sends the requests of the store (path style, signature version 4). It connects only to the configured endpoint,
 * which the list of outbound connections must contain.
 */
export class S3Client {
  readonly #settings: S3Settings
  readonly #outbound: Outbound

  constructor(settings: S3Settings, outbound: Outbound) {
    this.#settings = settings
    this.#outbound = outbound
  }

  async put(key: string, bytes: Buffer<ArrayBuffer>): Promise<void> {
    await this.#done({ method: 'PUT', key, body: bytes })
  }

  /** Starts a multipart upload. Returns its id. */
  async start(key: string): Promise<string> {
    const text = await this.#done({ method: 'POST', key, query: { uploads: '' } })
    return requireElement(text, 'UploadId')
  }

  /** Stores a part. Returns its ETag. Returns undefined if the multipart upload does not exist. */
  async putPart(key: string, { multipartId, number, bytes }: Part): Promise<string | undefined> {
    const query = { partNumber: String(number), uploadId: multipartId }
    const response = await this.#send({ method: 'PUT', key, query, body: bytes })
    if (response.status === 404) return discard(response)
    await this.#textOf(response)
    const etag = response.headers.get('etag')
    if (etag === null) throw unavailable(new Error('The store returned no ETag for a part'))
    return etag
  }

  /** Completes a multipart upload. It has no effect if the upload does not exist. */
  async complete(
    key: string,
    { multipartId, etags }: { multipartId: string; etags: readonly string[] },
  ): Promise<void> {
    const parts = etags.map(
      (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escaped(etag)}</ETag></Part>`,
    )
    const body = Buffer.from(`<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`)
    const response = await this.#send({ method: 'POST', key, query: { uploadId: multipartId }, body })
    if (response.status === 404) {
      await discard(response)
      return
    }
    const text = await this.#textOf(response)
    // The store answers with the status 200 before it knows whether the completion succeeds.
    if (text.includes('<Error>')) throw unavailable(new Error(`The store refused an upload: ${codeIn(text)}`))
  }

  async abort(key: string, multipartId: string): Promise<void> {
    await this.#remove({ method: 'DELETE', key, query: { uploadId: multipartId } })
  }

  async delete(key: string): Promise<void> {
    await this.#remove({ method: 'DELETE', key })
  }

  /** Returns the size of an object. Returns undefined if it does not exist. */
  async sizeOf(key: string): Promise<number | undefined> {
    const response = await this.#send({ method: 'HEAD', key })
    if (response.status === 404) return undefined
    if (!response.ok) throw unavailable(new Error(`The store responded with HTTP status ${response.status}`))
    return Number(response.headers.get('content-length'))
  }

  async read(key: string, { first, last }: ByteRange): Promise<Readable> {
    const response = await this.#send({ method: 'GET', key, headers: { range: `bytes=${first}-${last}` } })
    if (response.status === 404) {
      await discard(response)
      throw new Problem(
        'not_found',
        'The object of the content is missing in the S3-compatible store. Restore the object from a backup of the bucket',
      )
    }
    if (response.status !== 206 || response.body === null) {
      await this.#textOf(response)
      throw unavailable(new Error(`The store responded with HTTP status ${response.status} instead of a range`))
    }
    return Readable.fromWeb(response.body as ReadableStream<Uint8Array>)
  }

  async #remove(request: S3Request): Promise<void> {
    const response = await this.#send(request)
    if (response.status === 404) await discard(response)
    else await this.#textOf(response)
  }

  async #done(request: S3Request): Promise<string> {
    return this.#textOf(await this.#send(request))
  }

  async #send({ method, key, query = {}, headers = {}, body }: S3Request): Promise<Response> {
    const { endpoint, bucket, prefix } = this.#settings
    const path = [bucket, ...(prefix === '' ? [] : prefix.split('/')), ...key.split('/')].map(encodeURIComponent)
    const url = new URL(`/${path.join('/')}`, endpoint)
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    // The digest of a part is computed outside of the event loop.
    const digest = Buffer.from(await crypto.subtle.digest('SHA-256', body ?? Buffer.alloc(0))).toString('hex')
    const send = () => this.#signed({ method, url, headers: { ...headers, 'x-amz-content-sha256': digest }, body })
    try {
      for (const waitMs of retryMs) {
        const response = await send()
        if (response.status < 500 && response.status !== 429) return response
        await discard(response)
        await sleep(waitMs)
      }
      return await send()
    } catch (error) {
      throw unavailable(error)
    }
  }

  /** Sends a request with a new signature, because a signature contains the time. */
  async #signed({ method, url, headers, body }: SignedRequest): Promise<Response> {
    const { accessKey: accessKeyId, secretKey: secretAccessKey, region } = this.#settings
    const content = body === undefined ? {} : { body }
    const signer = new AwsV4Signer({
      accessKeyId,
      secretAccessKey,
      region,
      service: 's3',
      method,
      url: url.href,
      headers,
      ...content,
    })
    const signed = await signer.sign()
    return this.#outbound.fetch(signed.url, {
      method,
      headers: signed.headers,
      timeoutMs: answerMs,
      isStream: true,
      ...content,
    })
  }

  async #textOf(response: Response): Promise<string> {
    const text = await boundedText(response)
    if (response.ok) return text
    const code = codeIn(text)
    if (fullCodes.includes(code) || response.status === 507) throw storageFull()
    throw unavailable(new Error(`The store responded with HTTP status ${response.status} (${code})`))
  }
}

async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.length
    if (bytes > answerBytes) break
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

async function discard(response: Response): Promise<undefined> {
  await response.body?.cancel()
}

function requireElement(text: string, name: string): string {
  const [, value = ''] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(text) ?? []
  if (value === '') throw unavailable(new Error(`The answer of the store has no element ${name}`))
  return value.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&gt;', '>').replaceAll('&amp;', '&')
}

function codeIn(text: string): string {
  return /<Code>(\w{1,64})<\/Code>/.exec(text)?.[1] ?? 'unknown code'
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
}

function unavailable(cause: unknown): Problem {
  return new Problem('unavailable', 'The S3-compatible store of the contents is not available. Retry later', {
    retryAfter: 5,
    cause,
  })
}
