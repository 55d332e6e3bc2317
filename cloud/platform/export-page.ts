import type { ExportPageMeta } from '@millwright/api/inventory/export-pages.ts'

type PageMeta = { elements: number; totalElements?: number; nextCursor?: string; nodeIds?: readonly string[] }

/**
 * Returns a page for the export service: its first line, and one line per element. `elements` are JSON texts in parts. The
 * parts are copied once, into one buffer, because joined texts would be copied twice.
 */
export async function* exportedPage(
  { elements: count, totalElements, nextCursor, nodeIds }: PageMeta,
  elements: readonly (readonly string[])[],
): AsyncGenerator<Uint8Array> {
  const meta: ExportPageMeta = {
    elements: count,
    ...(totalElements === undefined ? {} : { total: totalElements }),
    ...(nextCursor === undefined ? {} : { nextCursor }),
    ...(nodeIds === undefined ? {} : { nodeIds }),
  }
  const parts = [JSON.stringify(meta), '\n', ...elements.flatMap((element) => [...element, '\n'])]
  const bytes = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0))
  let end = 0
  for (const part of parts) end += bytes.write(part, end)
  yield bytes
}
