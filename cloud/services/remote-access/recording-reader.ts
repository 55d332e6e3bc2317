import { createHash } from 'node:crypto'
import { Problem } from '@millwright/api/problem.ts'
import type { Scope } from '../../platform/database/database.ts'
import type { Context } from '../../platform/service.ts'
import { findPart, partOwner } from './recording-store.ts'
import type { SessionRow } from './session-store.ts'

/** Returns the hash that binds a part of a recording to all parts before it. */
export function chainOf(previous: Buffer | null, part: Uint8Array): Buffer {
  const partHash = createHash('sha256').update(part).digest()
  return createHash('sha256')
    .update(previous ?? Buffer.alloc(0))
    .update(partHash)
    .digest()
}

/** `RecordingReader` reads the recording of a session, part by part. It checks that no part is missing or changed. */
export class RecordingReader {
  readonly #context: Pick<Context, 'database' | 'safe'>
  readonly #scope: Scope
  readonly #row: SessionRow

  constructor(context: Pick<Context, 'database' | 'safe'>, scope: Scope, row: SessionRow) {
    this.#context = context
    this.#scope = scope
    this.#row = row
  }

  async *parts(): AsyncGenerator<Buffer> {
    const { database, safe } = this.#context
    const { id, recordingParts } = this.#row
    const scope = { tenantId: this.#scope.tenantId }
    let chain: Buffer | null = null
    for (let number = 0; number < recordingParts; number++) {
      const part = await database.read(scope, (handle) => findPart(handle, id, number))
      if (part === undefined) throw damaged(id)
      const plain = await safe.open(scope, part.sealed, partOwner(id, number))
      chain = chainOf(chain, plain)
      if (!chain.equals(part.chain)) throw damaged(id)
      yield plain
    }
    if (chain !== null && this.#row.recordingChain?.equals(chain) !== true) throw damaged(id)
  }

  /** Returns the SHA-256 of the recording, in hexadecimal. */
  async digest(): Promise<string> {
    const hash = createHash('sha256')
    for await (const part of this.parts()) hash.update(part)
    return hash.digest('hex')
  }
}

export const damagedDetail = 'The recording is damaged: a part is missing or was changed'

function damaged(id: string): Problem {
  return new Problem('recording_damaged', `Session ${id}: ${damagedDetail}`)
}
