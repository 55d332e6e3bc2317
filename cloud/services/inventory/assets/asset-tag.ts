import { etagOf, requireMatch } from '../../../platform/http/etag.ts'

type Versioned = { id: string; version: number }

/** Which version of which asset: two assets never have a tag in common. */
function nameOf({ id, version }: Versioned): string {
  return `${version}-${id.slice(-12)}`
}

export function assetTag(asset: Versioned): string {
  return etagOf(nameOf(asset))
}

/**
 * `If-Match` of one write, which may name the tags of several assets. Each is compared as it was before: what the write
 * itself has done to it does not count.
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
    requireMatch(this.#ifMatch, nameOf({ id, version }))
  }
}
