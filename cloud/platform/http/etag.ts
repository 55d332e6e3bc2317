import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'

/** Returns the ETag of a resource from its version, which is a number or a name. */
export function etagOf(version: number | string): string {
  return `"${version}"`
}

/**
 * Returns the ETag of a read response. It includes a hash of the body, because the body can change while the version
 * stays the same. Examples are the name of a group and the progress of a run. Writes compare only the version.
 */
export function readTag(etag: string, body: string | Buffer): string {
  return `${versionIn(opaque(etag)).slice(0, -1)}.${hash('sha1', body, 'base64url').slice(0, 11)}"`
}

/** Implements `If-Match`. Refuses the write if the resource has changed since the caller read it. */
export function requireMatch(header: string | undefined, version: number | string): void {
  const current = etagOf(version)
  if (header === undefined || names(header, (tag) => versionIn(tag) === current)) return
  throw new Problem(
    'precondition_failed',
    'The resource was modified by another request (ETag mismatch). Read it again and repeat the change',
  )
}

/** Implements `If-None-Match`. Returns true if the caller already has this response. */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  return header !== undefined && names(header, (tag) => tag === opaque(etag))
}

function versionIn(tag: string): string {
  return tag.replace(/\.[\w-]*"$/, '"')
}

function names(header: string, matches: (tag: string) => boolean): boolean {
  return header
    .split(',')
    .map((tag) => opaque(tag.trim()))
    .some((tag) => tag === '*' || matches(tag))
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
