import { etagOf, requireMatch } from '../../../platform/http/etag.ts'

type Versioned = { id: string; version: number }

/** Returns the version of an asset together with a part of its id, so that two assets never have the same tag. */
function nameOf({ id, version }: Versioned): string {
  return `${version}-${id.slice(-12)}`
}

export function assetTag(asset: Versioned): string {
  return etagOf(nameOf(asset))
}

/**
 * `Precondition` is the `If-Match` header of one write. The header may contain the tags of several assets. Each tag is
 * compared with the version that its asset had before the write.
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
