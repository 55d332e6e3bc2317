import { createHash } from 'node:crypto'
import { canonicalJson } from '@millwright/api/canonical-json.ts'

/** The content of an entry, as it is hashed, exported and verified. */
export type Content = {
  tenant: string
  id: string
  time: string
  action: string
  outcome: string
  principal: string | null
  principalName: string
  principalKind: string
  target: string | null
  requestId: string | null
  address: string | null
  detail: unknown
}

/** An entry with its position in the chain. Hashes are hexadecimal. */
export type Link = Content & { sequence: number; previousHash: string; hash: string }

export type Head = { sequence: number; hash: string }

export type Fault = { sequence: number; detail: string }

/** The head of an empty chain. */
export const emptyHead: Head = { sequence: 0, hash: '0'.repeat(64) }

/**
 * Hashes an entry together with the hash of its predecessor. So a change of one entry changes all later hashes. Older
 * entries are stored as `jsonb`, which preserves neither the order of keys nor the notation of numbers. The canonical
 * JSON of an entry is the same in both cases.
 */
export function hashOf(
  content: Content,
  { sequence, previousHash }: { sequence: number; previousHash: string },
): string {
  const { tenant, id, time, action, outcome, principal, principalName, principalKind } = content
  const { target, requestId, address, detail } = content
  const author = { principal, principalName, principalKind }
  const text = canonicalJson({
    tenant,
    sequence,
    id,
    time,
    action,
    outcome,
    ...author,
    target,
    requestId,
    address,
    detail,
  })
  return createHash('sha256').update(Buffer.from(previousHash, 'hex')).update(text).digest('hex')
}

/** Links new entries to the chain. */
export function extend(head: Head, contents: readonly Content[]): Link[] {
  let { sequence, hash: previousHash } = head
  return contents.map((content) => {
    sequence++
    const link = { ...content, sequence, previousHash, hash: hashOf(content, { sequence, previousHash }) }
    previousHash = link.hash
    return link
  })
}

/** Returns the message that the message authentication code of the head is computed from. */
export function headMessage(tenantId: string, head: Head): string {
  return `${tenantId}\n${head.sequence}\n${head.hash}`
}

/** Checks the entry that follows `before` in a chain without gaps. Returns its fault, or undefined if it is valid. */
export function faultAfter(before: Head, entry: Omit<Link, 'previousHash'>): Fault | undefined {
  const expected = before.sequence + 1
  if (entry.sequence > expected)
    return { sequence: expected, detail: `${missing(expected, entry.sequence - 1)} deleted` }
  if (entry.sequence < expected) return { sequence: entry.sequence, detail: `Entry ${entry.sequence} exists twice` }
  if (hashOf(entry, { sequence: expected, previousHash: before.hash }) === entry.hash) return undefined
  return { sequence: expected, detail: `Entry ${expected} was changed or replaced` }
}

/** Compares the last entry of a chain with the stored head. Returns the fault, or undefined if they match. */
export function faultOfEnd(last: Head, head: Head): Fault | undefined {
  if (last.sequence < head.sequence) {
    return { sequence: last.sequence + 1, detail: `${missing(last.sequence + 1, head.sequence)} deleted` }
  }
  if (last.hash !== head.hash)
    return { sequence: last.sequence, detail: 'The head of the chain does not match the last entry' }
  return undefined
}

function missing(first: number, last: number): string {
  return first === last ? `Entry ${first} was` : `Entries ${first} to ${last} were`
}

export type ExportCheck = {
  intact: boolean
  checked: number
  /** True if the export starts at the first entry and has no gaps. An export with filters is not complete. */
  complete: boolean
  /** The position and hash of the last entry. Compare them with the head that the platform reports. */
  head: Head | null
  firstFault: Fault | null
}

/**
 * Verifies an export without the platform. It checks each entry against its hash, and consecutive entries against each
 * other. It cannot detect missing entries at the end of the export. To detect them, compare `head` with the head that
 * the platform reports.
 */
export async function verifyExport(lines: AsyncIterable<string> | Iterable<string>): Promise<ExportCheck> {
  let checked = 0
  let complete = true
  let last: Head = emptyHead
  for await (const line of lines) {
    if (line.trim() === '') continue
    const link = parseLink(line)
    const fault = link === undefined ? unreadable(last) : faultOfLink(last, link)
    if (link === undefined || fault !== undefined) {
      return { intact: false, checked, complete: false, head: headOrNull(last), firstFault: fault ?? unreadable(last) }
    }
    complete &&= link.sequence === last.sequence + 1
    last = { sequence: link.sequence, hash: link.hash }
    checked++
  }
  return { intact: true, checked, complete, head: headOrNull(last), firstFault: null }
}

function faultOfLink(before: Head, link: Link): Fault | undefined {
  const { sequence } = link
  if (sequence <= before.sequence)
    return { sequence, detail: `Entry ${sequence} is listed after entry ${before.sequence}` }
  if (sequence === before.sequence + 1) {
    const changed = faultAfter(before, link)
    if (changed !== undefined) return changed
    if (link.previousHash === before.hash) return undefined
    return { sequence, detail: `Entry ${sequence} does not match the hash of its predecessor` }
  }
  if (hashOf(link, link) === link.hash) return undefined
  return { sequence, detail: `Entry ${sequence} was changed` }
}

function unreadable(before: Head): Fault {
  return { sequence: before.sequence + 1, detail: 'A line is not an audit entry' }
}

function headOrNull(head: Head): Head | null {
  return head.sequence === 0 ? null : head
}

function parseLink(line: string): Link | undefined {
  try {
    const link: unknown = JSON.parse(line)
    return isLink(link) ? link : undefined
  } catch {
    return undefined
  }
}

function isLink(value: unknown): value is Link {
  if (typeof value !== 'object' || value === null) return false
  const { sequence, hash, previousHash } = value as Partial<Record<keyof Link, unknown>>
  return Number.isSafeInteger(sequence) && isHash(hash) && isHash(previousHash)
}

function isHash(value: unknown): boolean {
  return typeof value === 'string' && /^[0-9a-f]{64}$/.test(value)
}
