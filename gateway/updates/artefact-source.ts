import { requestFor } from '@millwright/api/client.ts'
import { problemFrom } from '@millwright/api/problem.ts'
import { updates } from '@millwright/api/updates.ts'
import type { CloudConnection } from '../cloud-connection.ts'
import type { LeasedJob } from '../jobs/leased-job.ts'
import type { Answer } from '../platform/platform-fetch.ts'
import type { ArtefactSource } from './artefact-download.ts'

type Options = {
  cloud: CloudConnection
  leased: LeasedJob
  signal: AbortSignal
  onProgress: (receivedBytes: number) => void
}

/** Returns the source of the artefact of a job: a download from the platform with the lease of the job. */
export function artefactSource({ cloud, leased, signal, onProgress }: Options): ArtefactSource {
  return {
    signal,
    onProgress,
    async open(offset, downloading) {
      const input = { params: { jobId: leased.job.id }, query: { lease: leased.lease } }
      const { method, path } = requestFor(updates, updates.operations.readJobContent, input)
      const headers = { accept: 'application/octet-stream', ...(offset === 0 ? {} : { range: `bytes=${offset}-` }) }
      const answer = await cloud.send({ method, path, headers, signal: downloading })
      if (answer.status === 200) return { offset: 0, content: answer.body }
      if (answer.status !== 206) throw await problemOf(answer)
      const first = /^bytes (\d+)-/.exec(String(answer.headers['content-range']))?.[1]
      if (first !== undefined) return { offset: Number(first), content: answer.body }
      answer.body.destroy()
      throw new Error('The platform sent a part of the content without a range')
    },
  }
}

/** Returns the problem that a response of the platform contains. */
export async function problemOf({ status, body }: Answer): Promise<Error> {
  const document: unknown = await jsonOf(body).catch(() => undefined)
  return problemFrom(document, status)
}

/** The maximum size of the description of a problem. */
const problemBytes = 64 * 1024

async function jsonOf(body: AsyncIterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of body) {
    bytes += chunk.length
    if (bytes > problemBytes) return undefined
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString())
}
