import type { Artefact } from '@millwright/api/updates.ts'
import { useEffect, useRef, useState } from 'react'
import { Failure } from '../../../app/api/failure.ts'
import { useApi, useAppContext } from '../../../app/session/app-context.tsx'
import { useRefreshUpdates } from '../update-data.ts'
import { uploadContent } from './content-upload.ts'
import { sha256Of } from './file-hash.ts'

export type HashedFile = { file: File; hashedBytes: number; sha256: string | undefined }

/** Returns a chosen file with the progress of its hash, and functions that choose another file or none. */
export function useHashedFile(onHashed: (file: File, sha256: string) => void) {
  const [hashed, setHashed] = useState<HashedFile>()
  const [failure, setFailure] = useState<unknown>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])
  const choose = async (file: File) => {
    running.current?.abort()
    const cancel = new AbortController()
    running.current = cancel
    setFailure(undefined)
    setHashed({ file, hashedBytes: 0, sha256: undefined })
    try {
      const onProgress = (hashedBytes: number) => setHashed({ file, hashedBytes, sha256: undefined })
      const sha256 = await sha256Of(file, { signal: cancel.signal, onProgress })
      setHashed({ file, hashedBytes: file.size, sha256 })
      onHashed(file, sha256)
    } catch (error) {
      if (cancel.signal.aborted) return
      setHashed(undefined)
      setFailure(error)
    }
  }
  const clear = () => {
    running.current?.abort()
    setHashed(undefined)
    setFailure(undefined)
  }
  return { hashed, failure, choose, clear }
}

export type UploadState = {
  artefact: Artefact
  bytes: number
  isInterrupted: boolean
  /** Why the upload has failed. The user can continue it. */
  failure?: unknown
}

/** Returns the running upload, and functions that start and cancel it. The upload stops when the page is left. */
export function useUpload() {
  const api = useApi()
  const { fetchOperation } = useAppContext()
  const refresh = useRefreshUpdates()
  const [upload, setUpload] = useState<UploadState>()
  const running = useRef<AbortController>(undefined)
  useEffect(() => () => running.current?.abort(), [])

  const start = async (artefact: Artefact, file: File) => {
    running.current?.abort()
    const cancel = new AbortController()
    running.current = cancel
    const { signal } = cancel
    const params = { id: artefact.id }
    const change = (changed: Partial<UploadState>) =>
      setUpload((before) => (before === undefined || signal.aborted ? before : { ...before, ...changed }))
    setUpload({ artefact, bytes: artefact.content.receivedBytes, isInterrupted: false })
    if (artefact.content.state === 'complete') return refresh()
    const contentApi = {
      async readOffset() {
        const { headers } = await fetchOperation('updates', 'readUploadOffset', { params, signal })
        const offset = Number(headers.get('upload-offset') ?? Number.NaN)
        if (!Number.isInteger(offset)) throw new Failure({ title: 'No upload offset', code: 'internal' })
        return offset
      },
      readArtefact: async () => (await api.updates.readArtefact({ params })).data,
      async putPart({ content, range }: { content: Blob; range: string }) {
        const body = { mediaType: 'application/octet-stream', content }
        const headers = { 'content-range': range }
        const answer = await fetchOperation('updates', 'putContent', { params, headers, body, signal })
        return ((await answer.json()) as { data: Artefact }).data
      },
    }
    try {
      const complete = await uploadContent(file, contentApi, {
        signal,
        onProgress: (bytes) => change({ bytes }),
        onInterrupted: (isInterrupted) => change({ isInterrupted }),
      })
      change({ artefact: complete, bytes: complete.size, isInterrupted: false })
    } catch (failure) {
      change({ failure, isInterrupted: false })
    }
    await refresh()
  }

  /** Stops the upload and deletes its artefact. */
  const cancel = async () => {
    running.current?.abort()
    if (upload === undefined) return
    setUpload(undefined)
    await api.updates.deleteArtefact({ params: { id: upload.artefact.id } })
    await refresh()
  }
  return { upload, start, cancel }
}
