import { Problem } from '@millwright/api/problem.ts'

/** The entity tag of a row that counts its changes. */
export function etagOf(version: number): string {
  return `"${version}"`
}

/** `If-Match`: the change is made only if nobody else made one since the caller looked. */
export function requireMatch(header: string | undefined, version: number): void {
  const current = etagOf(version)
  requireTag(header, (tag) => tag === current)
}

/** `If-Match` where a tag says more than a version: whether it is meant is decided by whoever made it. */
export function requireTag(header: string | undefined, isCurrent: (tag: string) => boolean): void {
  if (header === undefined || names(header, isCurrent)) return
  throw new Problem('precondition_failed', 'Read it again: its ETag has changed since you read it')
}

/** `If-None-Match`: the caller has this very version already. */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  const current = opaque(etag)
  return header !== undefined && names(header, (tag) => tag === current)
}

function names(header: string, isMeant: (tag: string) => boolean): boolean {
  return header
    .split(',')
    .map((tag) => opaque(tag.trim()))
    .some((tag) => tag === '*' || isMeant(tag))
}

function opaque(tag: string): string {
  return tag.replace(/^W\//, '')
}
