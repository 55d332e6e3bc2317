import { hash } from 'node:crypto'
import { requireTag } from '../../platform/http/etag.ts'

/** Which version of which asset: two assets never have a tag in common. */
type Versioned = { id: string; version: number }

/** The entity tag of an asset as it is shown: also the name of its group, which may change without the asset. */
export function assetTag({ accessGroup, ...asset }: Versioned & { accessGroup: string }): string {
  return `${beginning(asset)}${hash('sha1', accessGroup, 'base64url').slice(0, 8)}"`
}

function beginning({ id, version }: Versioned): string {
  return `"${version}.${id.slice(-12)}.`
}

/**
 * `If-Match` of one write, which may name the tags of several assets. Each is compared as it was before: what the write
 * itself has done to it does not count, nor does the name of its group.
 */
export class Precondition {
  readonly #ifMatch: string | undefined
  readonly #before = new Map<string, number>()

  constructor(ifMatch: string | undefined) {
    this.#ifMatch = ifMatch
  }

  get isGiven(): boolean {
    return this.#ifMatch !== undefined
  }

  require({ id, version: current }: Versioned): void {
    const version = this.#before.get(id) ?? current
    this.#before.set(id, version)
    requireTag(this.#ifMatch, (tag) => tag.startsWith(beginning({ id, version })))
  }
}
