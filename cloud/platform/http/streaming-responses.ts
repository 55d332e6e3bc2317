import { PassThrough, type Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { limits } from '../limits.ts'

/** `StreamingResponses` sends endless responses. A response ends when the reader disconnects or the server stops. */
export class StreamingResponses {
  readonly #ends = new Set<() => void>()
  #stops = false

  constructor(app: FastifyInstance) {
    app.addHook('preClose', async () => {
      this.#stops = true
      for (const end of this.#ends) end()
    })
  }

  send(reply: FastifyReply, source: Readable): FastifyReply {
    const sent = new PassThrough({ highWaterMark: limits.streamBytes })
    let stopTimeout: NodeJS.Timeout | undefined
    const end = () => {
      source.unpipe(sent)
      sent.end()
      // A client that does not read its stream must not delay the stop.
      stopTimeout ??= setTimeout(() => reply.raw.destroy(), limits.streamDrainMs).unref()
    }
    this.#ends.add(end)
    source.on('error', (error) => sent.destroy(error))
    sent.on('close', () => source.destroy())
    reply.raw.on('close', () => {
      clearTimeout(stopTimeout)
      this.#ends.delete(end)
      sent.destroy()
    })
    if (reply.raw.destroyed) sent.destroy()
    source.pipe(sent)
    if (this.#stops) end()
    return reply.send(sent)
  }
}
