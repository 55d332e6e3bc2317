/** The size from which text is passed on. Larger parts make fewer calls, smaller parts keep memory low. */
const partCharacters = 64 * 1024

/** Joins many short texts into parts of about 64 KiB. */
export async function* textParts(texts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let part = ''
  for await (const text of texts) {
    part += text
    if (part.length < partCharacters) continue
    yield part
    part = ''
  }
  if (part !== '') yield part
}
