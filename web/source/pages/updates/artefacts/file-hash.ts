import { sha256 } from '@noble/hashes/sha2.js'
import { bytesToHex } from '@noble/hashes/utils.js'

/** The size of the parts that are hashed without a break. The page stays responsive between two parts. */
const partBytes = 1024 * 1024

type HashOptions = { signal: AbortSignal; onProgress: (bytes: number) => void }

/**
 * Returns the SHA-256 of a file, in hex. The file is read in parts, because `crypto.subtle` needs the complete file in
 * memory.
 */
export async function sha256Of(file: Blob, { signal, onProgress }: HashOptions): Promise<string> {
  const hash = sha256.create()
  for (let first = 0; first < file.size; first += partBytes) {
    const part = await file.slice(first, first + partBytes).arrayBuffer()
    signal.throwIfAborted()
    hash.update(new Uint8Array(part))
    onProgress(Math.min(first + partBytes, file.size))
  }
  return bytesToHex(hash.digest())
}
