import type { EventEmitter } from 'node:events'
import type { DescService } from '@bufbuild/protobuf'
import type {
  Metadata,
  ServerUnaryCall,
  ServiceDefinition,
  sendUnaryData,
  UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { scanMetadataKey } from '@millwright/api/link-protocol.ts'
import { LinkError, statusOf } from './link-error.ts'
import type { Log } from './log.ts'
import type { PermitSource } from './network/permit-source.ts'

/**
 * `ServedService` is a service that a link serves: its description, its gRPC definition for an interface name, and its
 * handlers.
 */
export type ServedService = {
  service: DescService
  /** The vendor prefixes of the service, if they differ from the prefixes of the link. */
  vendors?: readonly string[]
  definition: (interfaceNamed: string) => ServiceDefinition
  implementation: UntypedServiceImplementation
}

/** `ServiceContext` is what the services of a link share. */
export type ServiceContext = { log: Log; permits: PermitSource; home?: string | undefined }

type Cancellable = EventEmitter & { cancelled: boolean }

/** Returns a signal that is aborted when the caller cancels the call. */
export function signalOf(call: Cancellable): AbortSignal {
  const controller = new AbortController()
  if (call.cancelled) controller.abort()
  else call.once('cancelled', () => controller.abort())
  return controller.signal
}

/** Returns the id of the scan that the gateway sent with the call. */
export function scanOf({ metadata }: { metadata: Metadata }): { scan?: string } {
  const [scan] = metadata.get(scanMetadataKey)
  return typeof scan === 'string' && scan !== '' ? { scan } : {}
}

type CallContext = { signal: AbortSignal; scan?: string }
type Answering<Request, Response> = (request: Request, context: CallContext) => Response | Promise<Response>

/**
 * Returns a unary gRPC handler that answers each call with the result of `work`. A thrown error becomes the status of
 * the call.
 */
export function answer<Request, Response>(work: Answering<Request, Response>, log: Log) {
  return (call: ServerUnaryCall<Request, Response>, done: sendUnaryData<Response>): void => {
    const working = (async () => work(call.request, { signal: signalOf(call), ...scanOf(call) }))()
    working.then(
      (response) => done(null, response),
      (error: unknown) => {
        if (!(error instanceof LinkError) && !call.cancelled) log.error(`${call.getPath()} failed.`, { error })
        done(statusOf(error))
      },
    )
  }
}
