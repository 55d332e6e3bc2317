/** Smaller chunks are combined to chunks of this size. */
const combinedBytes = 64 * 1024

/**
 * Combines small chunks. A client can send each byte as its own chunk, and a store that keeps them until they fill a part
 * would need a hundred times the memory of the bytes. Bytes that arrived before an error are returned before the error.
 */
export async function* combined(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let buffer = Buffer.alloc(0)
  let bytes = 0
  const taken = () => {
    const part = buffer.subarray(0, bytes)
    buffer = Buffer.alloc(0)
    bytes = 0
    return part
  }
  try {
    for await (const chunk of chunks) {
      if (bytes + chunk.length > combinedBytes) {
        if (bytes > 0) yield taken()
        if (chunk.length >= combinedBytes / 2) {
          yield chunk
          continue
        }
      }
      if (bytes === 0) buffer = Buffer.allocUnsafe(combinedBytes)
      buffer.set(chunk, bytes)
      bytes += chunk.length
    }
  } finally {
    if (bytes > 0) yield taken()
  }
}
