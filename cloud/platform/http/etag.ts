import { hash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'

/** The entity tag of something that counts its changes, or names its versions. */
export function etagOf(version: number | string): string {
  return `"${version}"`
}

/**
 * The tag of an answer as it is read: what it shows besides, such as the name of a group or the progress of a run, may
 * change without the version. A write is held to the version alone.
 */
export function readTag(etag: string, body: string | Buffer): string {
  return `${versionIn(opaque(etag)).slice(0, -1)}.${hash('sha1', body, 'base64url').slice(0, 11)}"`
}

/** `If-Match`: the change is made only if nobody else made one since the caller looked. */
export function requireMatch(header: string | undefined, version: number | string): void {
  const current = etagOf(version)
  if (header === undefined || names(header, (tag) => versionIn(tag) === current)) return
  throw new Problem('precondition_failed', 'Read it again: its ETag has changed since you read it')
}

/** `If-None-Match`: the caller has this very answer already. */
export function isUnchanged(header: string | undefined, etag: string): boolean {
  return header !== undefined && names(header, (tag) => tag === opaque(etag))
}

function versionIn(tag: string): string {
  return tag.replace(/\.[\w-]*"$/, '"')
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
