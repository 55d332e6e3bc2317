/** Yields the text of a response as it arrives. */
export async function* textOf({ body }: Response): AsyncGenerator<string> {
  if (body === null) return
  const decoder = new TextDecoder()
  const reader = body.getReader()
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      yield decoder.decode(next.value, { stream: true })
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}

/** Splits the text of a response at a separator, and yields each part as soon as it has arrived. */
export async function* splitResponse(response: Response, separator: string): AsyncGenerator<string> {
  let rest = ''
  for await (const text of textOf(response)) {
    const pieces = (rest + text).split(separator)
    rest = pieces.pop() ?? ''
    yield* pieces
  }
  if (rest !== '') yield rest
}
