import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import type { Operation, ReceivedFile } from '@millwright/api/contract.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { bodyBytesOf } from './body-budget.ts'

const formField = 'file'

/**
 * Returns the file in the body of a request: the field `file` of a form, or the body itself. Nothing is read before the
 * handler opens the file. The content is not buffered, so the handler determines how fast it arrives.
 */
export function receivedFile(
  request: FastifyRequest,
  reply: FastifyReply,
  operation: Operation,
): ReceivedFile | undefined {
  if (!(request.body instanceof Readable)) return undefined
  const body = request.body
  reply.raw.once('finish', () => discardRest(request.raw))
  const limit = bodyBytesOf(operation)
  const length = request.headers['content-length']
  const [mediaType = ''] = (request.headers['content-type'] ?? '').toLowerCase().split(';')
  return {
    bytes: length === undefined ? undefined : Number(length),
    async open() {
      if (Number(length ?? 0) > limit) throw tooLarge(limit)
      if (mediaType.trim() !== 'multipart/form-data')
        // The connection stays open after an error of the handler, so that the client receives the response.
        return {
          name: undefined,
          mediaType: mediaType.trim(),
          content: limited(body.iterator({ destroyOnReturn: false }), limit),
        }
      const { content, ...file } = await fileOfForm(request, body)
      return { ...file, content: limited(content, limit) }
    },
  }
}

/** Returns the first file of a form. The rest of the form is read and ignored. */
function fileOfForm(request: FastifyRequest, body: Readable) {
  const { promise, resolve, reject } = Promise.withResolvers<{ name: string; mediaType: string; content: Readable }>()
  const fail = (error: unknown) => reject(invalidForm(error))
  try {
    const form = new Busboy({
      headers: request.headers as { 'content-type': string },
      limits: { files: 1, fields: 16, fieldSize: 1024, parts: 17 },
    })
    form.on('file', (field, content, name, _encoding, mediaType) => {
      if (field === formField) resolve({ name, mediaType: mediaType.toLowerCase(), content })
      else {
        content.resume()
        fail(undefined)
      }
      // An aborted request must end the reader of the file.
      body.once('error', (error) => content.destroy(error))
      body.once('close', () => {
        if (!request.raw.complete) content.destroy(new Error('The request was aborted'))
      })
    })
    form.once('finish', () => fail(undefined))
    form.once('error', fail)
    body.once('error', fail)
    body.pipe(form)
  } catch (error) {
    fail(error)
  }
  return promise
}

function invalidForm(cause: unknown): Problem {
  const detail = `The form has no file in the field "${formField}". Send the file in this field, or as the body with its media type`
  const errors = [{ pointer: '', code: 'missing', detail: `must contain a file in the field "${formField}"` }]
  return new Problem('invalid_body', detail, { errors, cause })
}

/**
 * Reads and ignores the rest of a body whose request was answered before its end. Otherwise the next request on the
 * connection would wait forever. A handler that stopped reading can have left a listener, with which a stream does not flow.
 */
function discardRest(request: IncomingMessage): void {
  if (request.complete) return
  request.removeAllListeners('readable')
  request.resume()
}

async function* limited(content: AsyncIterable<Uint8Array>, limit: number): AsyncGenerator<Uint8Array> {
  let bytes = 0
  try {
    for await (const chunk of content) {
      bytes += chunk.length
      if (bytes > limit) throw tooLarge(limit)
      yield chunk
    }
  } catch (error) {
    throw error instanceof Problem ? error : incomplete(error)
  }
}

function incomplete(cause: unknown): Problem {
  return new Problem('invalid_body', 'The request ended before the file was complete. Send the file again', { cause })
}

function tooLarge(limit: number): Problem {
  return new Problem('body_too_large', `The file exceeds the limit of ${limit} bytes. Send a smaller file`)
}
