import type { PathRow } from '@millwright/api/hierarchy.ts'
import { parseJsonObject } from '../../../components/forms/json-object.ts'

/**
 * Returns the request body of an import for the content of a file. A file with the extension `json` must have the
 * format of the JSON export. Every other file is sent as CSV. Returns undefined for an invalid JSON file. The server
 * validates the nodes.
 */
export function contentOf(fileName: string, content: string): { csv: string } | { nodes: PathRow[] } | undefined {
  if (!fileName.toLowerCase().endsWith('.json')) return { csv: content }
  const document = parseJsonObject(content)
  const nodes = (document?.data as { nodes?: unknown } | undefined)?.nodes ?? document?.nodes
  return Array.isArray(nodes) ? { nodes } : undefined
}
