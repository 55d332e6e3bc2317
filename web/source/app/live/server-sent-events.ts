/** `ServerSentEvent` is one message of a server-sent event stream. */
export type ServerSentEvent = { id?: string; event?: string; data?: string }

/** Reads a server-sent event stream and yields its messages. An empty line ends a message. */
export async function* readServerSentEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let rest = ''
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      const blocks = (rest + decoder.decode(value, { stream: true })).replaceAll('\r\n', '\n').split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const message = parseBlock(block)
        if (message !== undefined) yield message
      }
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}

/** Parses one message. Returns undefined if the block contains only a comment. */
export function parseBlock(block: string): ServerSentEvent | undefined {
  const message: ServerSentEvent = {}
  for (const line of block.split('\n')) {
    const [, name, value = ''] = /^(id|event|data):\s?(.*)$/.exec(line) ?? []
    if (name === 'id') message.id = value
    if (name === 'event') message.event = value
    if (name === 'data') message.data = message.data === undefined ? value : `${message.data}\n${value}`
  }
  return Object.keys(message).length === 0 ? undefined : message
}
