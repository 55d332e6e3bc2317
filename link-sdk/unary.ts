import type { EventEmitter } from 'node:events'
import type { DescService } from '@bufbuild/protobuf'
import type { ServerUnaryCall, ServiceDefinition, sendUnaryData, UntypedServiceImplementation } from '@grpc/grpc-js'
import { LinkError, statusOf } from './link-error.ts'
import type { Log } from './log.ts'

/**
 * `ServedService` is a service that a link serves: its description, its gRPC definition for an interface name, and its
 * handlers.
 */
export type ServedService = {
  service: DescService
  definition: (interfaceNamed: string) => ServiceDefinition
  implementation: UntypedServiceImplementation
}

type Cancellable = EventEmitter & { cancelled: boolean }

/** Returns a signal that is aborted when the caller cancels the call. */
export function signalOf(call: Cancellable): AbortSignal {
  const controller = new AbortController()
  if (call.cancelled) controller.abort()
  else call.once('cancelled', () => controller.abort())
  return controller.signal
}

type Answering<Request, Response> = (request: Request, signal: AbortSignal) => Response | Promise<Response>

/**
 * Returns a unary gRPC handler that answers each call with the result of `work`. A thrown error becomes the status of
 * the call.
 */
export function answer<Request, Response>(work: Answering<Request, Response>, log: Log) {
  return (call: ServerUnaryCall<Request, Response>, done: sendUnaryData<Response>): void => {
    const working = (async () => work(call.request, signalOf(call)))()
    working.then(
      (response) => done(null, response),
      (error: unknown) => {
        if (!(error instanceof LinkError) && !call.cancelled) log.error(`${call.getPath()} failed.`, { error })
        done(statusOf(error))
      },
    )
  }
}
