import type { DescMethod, MessageInitShape, MessageShape } from '@bufbuild/protobuf'
import { type CallOptions, type Client, type ClientReadableStream, Metadata } from '@grpc/grpc-js'
import type { WireMethod } from '@millwright/api/link-protocol.ts'

type Call<Method extends DescMethod> = {
  method: WireMethod<Method>
  request: MessageInitShape<Method['input']>
  withinMs: number
  signal?: AbortSignal
  metadata?: Metadata
}

/** Calls a unary method. Rejects with a `ServiceError` of gRPC. */
export function callUnary<Method extends DescMethod>(
  client: Client,
  { method, request, withinMs, signal, metadata = new Metadata() }: Call<Method>,
): Promise<MessageShape<Method['output']>> {
  return new Promise((resolve, reject) => {
    const call = client.makeUnaryRequest(
      method.path,
      method.requestSerialize,
      method.responseDeserialize,
      request,
      metadata,
      within(withinMs),
      (error, answer) => {
        signal?.removeEventListener('abort', cancel)
        if (error === null && answer !== undefined) resolve(answer)
        else reject(error)
      },
    )
    const cancel = () => call.cancel()
    signal?.addEventListener('abort', cancel)
  })
}

/** Calls a method that returns a stream of responses. */
export function callStream<Method extends DescMethod>(
  client: Client,
  { method, request, withinMs }: Call<Method>,
): ClientReadableStream<MessageShape<Method['output']>> {
  const { path, requestSerialize, responseDeserialize } = method
  return client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request, within(withinMs))
}

function within(milliseconds: number): CallOptions {
  return { deadline: Date.now() + milliseconds }
}
