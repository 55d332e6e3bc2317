import { Problem } from '@millwright/api/problem.ts'

/** The entity tag of a row that counts its changes. */
export function etagOf(version: number): string {
  return `"${version}"`
}

/** `If-Match`: the change is made only if nobody else made one since the caller looked. */
export function requireMatch(header: string | undefined, version: number): void {
  if (header === undefined || names(header, etagOf(version))) return
  throw new Problem('precondition_failed', 'Read it again: its ETag has changed since you read it')
}

/** `If-None-Match`: the caller has this very version already. */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  return header !== undefined && names(header, etag)
}

function names(header: string, etag: string): boolean {
  const opaque = etag.replace(/^W\//, '')
  return header.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === opaque)
}
