import { Problem } from '@millwright/api/problem.ts'

/** The header `Content-Range` of an upload and the header `Range` of a download (RFC 9110 §14). */

/** The first and the last byte of a part of a content. */
export type ByteRange = { first: number; last: number }

/**
 * The part that a request sends. `last` is undefined if the request sends no bytes and only completes the upload. `size` is
 * undefined if the total number of bytes is not known yet.
 */
export type SentPart = { first: number; last: number | undefined; size: number | undefined }

/** Parses `Content-Range`. Throws `invalid_header`. */
export function parseContentRange(text: string): SentPart {
  const [, first, last, total = ''] = /^bytes (?:(\d{1,15})-(\d{1,15})|\*)\/(\d{1,15}|\*)$/i.exec(text.trim()) ?? []
  const size = total === '*' ? undefined : Number(total)
  if (total === '') throw invalidRange(text)
  if (first === undefined || last === undefined) {
    if (size === undefined) throw invalidRange(text)
    return { first: size, last: undefined, size }
  }
  const part = { first: Number(first), last: Number(last), size }
  if (part.first > part.last || (size !== undefined && part.last >= size)) throw invalidRange(text)
  return part
}

function invalidRange(text: string): Problem {
  return new Problem(
    'invalid_header',
    `The header Content-Range is not valid: ${JSON.stringify(text.slice(0, 100))}. Send bytes <first>-<last>/<size>, such as bytes 0-1023/4096`,
  )
}

/**
 * Returns the requested range of a content. Returns undefined if the whole content is requested: without the header, and with
 * a header that is not valid or has several ranges, which a server can ignore. Throws `range_not_satisfiable`.
 */
export function requestedRange(text: string | undefined, size: number): ByteRange | undefined {
  const [, first = '', last = ''] = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(text ?? '') ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const bytes = Math.min(Number(last), size)
    if (bytes === 0) throw unsatisfiable(size)
    return { first: size - bytes, last: size - 1 }
  }
  if (last !== '' && Number(last) < Number(first)) return undefined
  if (Number(first) >= size) throw unsatisfiable(size)
  return { first: Number(first), last: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}

function unsatisfiable(size: number): Problem {
  return new Problem('range_not_satisfiable', `The content has ${size} bytes. Request a range inside the content`, {
    headers: { 'content-range': `bytes */${size}` },
  })
}
