import { type Import, type ImportRow, importMediaTypes } from '@millwright/api/imports.ts'
import { growingPause } from '@millwright/api/test-effort.ts'
import type { TestCaller } from '../../platform/testing/hub.ts'

type UploadOptions = { dryRun?: boolean; mapping?: string; mediaType?: string; fileName?: string }

/** Uploads a file, and returns the import when it has ended. */
export async function importFile(
  caller: TestCaller,
  content: string | Uint8Array<ArrayBuffer>,
  { mediaType = importMediaTypes.csv, ...query }: UploadOptions = {},
): Promise<Import> {
  const { data } = await caller.imports.uploadFile({ query, body: { mediaType, content } })
  return endOf(caller, data.importId)
}

/** Returns an import when it has ended. */
export async function endOf(caller: TestCaller, importId: string): Promise<Import> {
  const pause = growingPause()
  for (;;) {
    const { data } = await caller.imports.readImport({ params: { importId } })
    if (!['queued', 'running', 'canceling'].includes(data.state)) return data
    await pause()
  }
}

/** Returns the results of all rows of an import. */
export async function rowsOf(caller: TestCaller, importId: string): Promise<ImportRow[]> {
  const rows: ImportRow[] = []
  for (let cursor: string | undefined; ; ) {
    const query = { limit: 100, ...(cursor === undefined ? {} : { cursor }) }
    const { data, meta } = await caller.imports.listRows({ params: { importId }, query })
    rows.push(...data)
    if (meta.nextCursor === undefined) return rows
    cursor = meta.nextCursor
  }
}

/** Returns the outcome of each row, with the codes of its errors. */
export function outcomesOf(rows: readonly ImportRow[]): string[] {
  return rows.map(({ row, outcome, errors = [] }) => [row, outcome, ...errors.map(({ code }) => code)].join(' '))
}
