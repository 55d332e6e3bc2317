import { useRef, useState } from 'react'
import { failureOf } from '../../../app/api/failure.ts'
import { download } from '../../../components/actions/download.ts'
import type { OpenStream } from '../streams/session-stream.ts'
import { downloadFile, uploadFile } from './file-streams.ts'

export type Transfer = {
  id: number
  direction: 'upload' | 'download'
  name: string
  bytes: number
  total: number | undefined
  state: 'running' | 'done' | 'canceled' | { failure: unknown }
}

export type Transfers = {
  readonly list: readonly Transfer[]
  upload(path: string, file: File): void
  download(path: string, name: string): void
  cancel(id: number): void
  /** Removes a transfer that is over from the list. */
  remove(id: number): void
}

/** Returns the transfers of a session. Each transfer has its own stream, so that several transfers run at once. */
export function useTransfers(openStream: OpenStream, onStored: () => void): Transfers {
  const [list, setList] = useState<readonly Transfer[]>([])
  const cancels = useRef(new Map<number, AbortController>())
  const nextId = useRef(1)
  const update = (id: number, change: Partial<Transfer>) =>
    setList((before) => before.map((transfer) => (transfer.id === id ? { ...transfer, ...change } : transfer)))
  type Run = (options: {
    signal: AbortSignal
    onProgress: (bytes: number, total: number | undefined) => void
  }) => Promise<void>
  const start = async (transfer: Pick<Transfer, 'direction' | 'name' | 'total'>, run: Run) => {
    const id = nextId.current++
    const cancel = new AbortController()
    cancels.current.set(id, cancel)
    setList((before) => [...before, { ...transfer, id, bytes: 0, state: 'running' }])
    try {
      await run({ signal: cancel.signal, onProgress: (bytes, total) => update(id, { bytes, total }) })
      update(id, { state: 'done' })
    } catch (error) {
      update(id, { state: cancel.signal.aborted ? 'canceled' : { failure: failureOf(error) } })
    } finally {
      cancels.current.delete(id)
    }
  }
  return {
    list,
    upload: (path, file) =>
      void start({ direction: 'upload', name: file.name, total: file.size }, async (options) => {
        await uploadFile(openStream, path, { ...options, file })
        onStored()
      }),
    download: (path, name) =>
      void start({ direction: 'download', name, total: undefined }, async (options) =>
        download(await downloadFile(openStream, path, options), name),
      ),
    cancel: (id) => cancels.current.get(id)?.abort(),
    remove: (id) => setList((before) => before.filter((transfer) => transfer.id !== id)),
  }
}
