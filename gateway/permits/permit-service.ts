import {
  type ServerDuplexStream,
  type ServiceDefinition,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { linkServices, permitKindNumbers, scanMetadataKey, wireService } from '@millwright/api/link-protocol.ts'
import { PermitRefusal } from '@millwright/api/permit-issuer.ts'
import type { PermitAnswer, PermitMessage, TakePermit } from '@millwright/api/proto/generated/permits_pb.js'
import { type PermitRequest, permitKinds } from '@millwright/api/scan-budget.ts'
import type { GatewayPermits } from './gateway-permits.ts'

type Stream = ServerDuplexStream<PermitMessage, Partial<PermitAnswer>>

/** The maximum number of permits that one call of a link waits for. */
export const mostWaitingPermits = 4_096

const longestText = 256

/** Returns the gRPC service through which links take permits. */
export function permitService(permits: GatewayPermits): [ServiceDefinition, UntypedServiceImplementation] {
  return [wireService(linkServices.permits), { takePermits: (stream: Stream) => serve(stream, permits) }]
}

function serve(stream: Stream, permits: GatewayPermits): void {
  const over = new AbortController()
  const connections = new Map<bigint, Disposable>()
  const [scan] = stream.metadata.get(scanMetadataKey)
  const scanId = typeof scan === 'string' && scan !== '' ? { scanId: scan } : {}
  let waiting = 0

  const take = async ({ id, ...rest }: TakePermit): Promise<void> => {
    const request = requestOf(rest)
    if (request === undefined) return void fail(status.INVALID_ARGUMENT, 'The request for a permit is not valid.')
    if (waiting >= mostWaitingPermits)
      return void fail(status.RESOURCE_EXHAUSTED, `A link waits for at most ${mostWaitingPermits} permits at a time.`)
    waiting += 1
    try {
      const permit = await permits.take(request, { ...scanId, signal: over.signal })
      if (over.signal.aborted) return permit[Symbol.dispose]()
      if (request.kind === 'connection') connections.set(id, permit)
      stream.write({ id, refusal: '', reason: '' })
    } catch (error) {
      if (over.signal.aborted) return
      const { reason, message } =
        error instanceof PermitRefusal ? error : { reason: 'canceled', message: String(error) }
      stream.write({ id, refusal: message, reason })
    } finally {
      waiting -= 1
    }
  }
  const release = (id: bigint) => {
    connections.get(id)?.[Symbol.dispose]()
    connections.delete(id)
  }
  const end = () => {
    over.abort()
    for (const connection of connections.values()) connection[Symbol.dispose]()
    connections.clear()
  }
  const fail = (code: status, details: string) => {
    end()
    stream.emit('error', { code, details })
  }
  stream.on('data', ({ message }: PermitMessage) => {
    if (message.case === 'take') void take(message.value)
    if (message.case === 'release') release(message.value)
  })
  stream.on('cancelled', end)
  stream.on('error', end)
  stream.on('end', () => {
    end()
    stream.end()
  })
}

function requestOf({ address, protocol, operation, kind }: Omit<TakePermit, 'id'>): PermitRequest | undefined {
  const name = permitKinds.find((one) => permitKindNumbers[one] === kind)
  const isValid = [address, protocol, operation].every((text) => text !== '' && text.length <= longestText)
  return name === undefined || !isValid ? undefined : { address, protocol, operation, kind: name }
}
