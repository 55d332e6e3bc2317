import { createHash, type Hash } from 'node:crypto'
import type { DigestName } from '@millwright/api/artefact-signature.ts'

export type CompleteDigests = Readonly<Record<DigestName, Buffer>>

const names: readonly DigestName[] = ['sha256', 'sha384', 'sha512', 'blake2b512']

/**
 * `RunningDigests` computes all digests of a content while its bytes arrive. The digests of all signature formats are stored
 * with a content, so that a signature that is added later can be checked without reading the content again.
 */
export class RunningDigests {
  readonly #hashes = names.map((name): [DigestName, Hash] => [name, createHash(name)])
  #bytes = 0

  get bytes(): number {
    return this.#bytes
  }

  update(chunk: Uint8Array): void {
    for (const [, hash] of this.#hashes) hash.update(chunk)
    this.#bytes += chunk.length
  }

  complete(): CompleteDigests {
    return Object.fromEntries(this.#hashes.map(([name, hash]) => [name, hash.digest()])) as CompleteDigests
  }
}

export async function digestsOf(chunks: AsyncIterable<Uint8Array>): Promise<CompleteDigests> {
  const digests = new RunningDigests()
  for await (const chunk of chunks) digests.update(chunk)
  return digests.complete()
}
