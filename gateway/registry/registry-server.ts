import {
  logVerbosity,
  type Metadata,
  Server,
  ServerCredentials,
  type ServiceDefinition,
  type ServiceError,
  setLogVerbosity,
  status,
  type UntypedServiceImplementation,
} from '@grpc/grpc-js'
import { gatekeeperLimits } from '@millwright/api/gatekeeper.ts'
import { interfaceName, linkServices, linkTokenKey, wireService } from '@millwright/api/link-protocol.ts'
import type {
  QueryRegisteredServicesRequest,
  RegisterServiceRequest,
  UnregisterServiceRequest,
} from '@millwright/api/proto/generated/registry_pb.js'
import { PortTakenError, SetupError } from '../setup-error.ts'
import { infoOf, registrationFrom, registrationLimits } from './registration.ts'
import type { Registry } from './registry.ts'

type Options = {
  registry: Registry
  host: string
  port: number
  vendors: readonly string[]
  /** Further services for links at the same address. */
  services?: readonly [ServiceDefinition, UntypedServiceImplementation][]
}

type Unary<Request> = (
  call: { request: Request; metadata: Metadata },
  answer: (error: Partial<ServiceError> | null, value?: object) => void,
) => void

/** `RegistryServer` serves the registry over gRPC, with the service names of every vendor prefix. */
export class RegistryServer {
  readonly #server: Server
  readonly port: number

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  static async start({ registry, host, port, vendors, services = [] }: Options): Promise<RegistryServer> {
    // The library would print an error if the port is in use. The error is returned too.
    setLogVerbosity(logVerbosity.NONE)
    // Without this option, a second gateway could listen on the same port and receive half of the registrations.
    const server = new Server({ 'grpc.so_reuseport': 0 })
    for (const vendor of vendors) {
      const service = wireService(linkServices.registry, interfaceName(linkServices.registry, vendor))
      server.addService(service, handlersFor(registry, vendor))
    }
    for (const [definition, implementation] of services) server.addService(definition, implementation)
    const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`
    const bound = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, boundPort) =>
        error === null ? resolve(boundPort) : reject(error),
      )
    }).catch((error: Error) => {
      if (error.message.includes('EADDRINUSE')) {
        throw new PortTakenError(
          'registryPort',
          `Port ${port} of the registry is in use: stop the other program, or set MILLWRIGHT_GATEWAY_REGISTRY_PORT to a free port.`,
        )
      }
      throw new SetupError(
        `The registry cannot listen on ${address} (${error.message}): set MILLWRIGHT_GATEWAY_REGISTRY_HOST and MILLWRIGHT_GATEWAY_REGISTRY_PORT.`,
      )
    })
    return new RegistryServer(server, bound)
  }

  async stop(): Promise<void> {
    this.#server.forceShutdown()
  }
}

function handlersFor(registry: Registry, vendor: string) {
  const registerService: Unary<RegisterServiceRequest> = ({ request, metadata }, answer) => {
    const registration = registrationFrom(request.info, vendor)
    if ('fault' in registration) return answer({ code: status.INVALID_ARGUMENT, details: registration.fault })
    const { appInstanceId } = registration
    if (!registry.isAllowed(appInstanceId, tokenIn(metadata))) return answer(reserved(appInstanceId))
    if (!registry.register(registration)) {
      return answer({
        code: status.RESOURCE_EXHAUSTED,
        details: `The gateway has reached its limit of ${gatekeeperLimits.linksPerGateway} asset links`,
      })
    }
    answer(null, { expireTime: registrationLimits.lifeSeconds })
  }

  const unregisterService: Unary<UnregisterServiceRequest> = ({ request, metadata }, answer) => {
    if (request.info === undefined) return answer({ code: status.INVALID_ARGUMENT, details: 'info is missing' })
    const { appInstanceId } = request.info
    if (!registry.isAllowed(appInstanceId, tokenIn(metadata))) return answer(reserved(appInstanceId))
    if (registry.unregister(appInstanceId)) return answer(null, {})
    // The definition of the interface requires this status, although clients treat all errors in the same way.
    answer({ code: status.NOT_FOUND, details: `Asset link ${appInstanceId} is not registered` })
  }

  const queryRegisteredServices: Unary<QueryRegisteredServicesRequest> = ({ request }, answer) => {
    answer(null, { infos: registry.query(request.filter).map(infoOf) })
  }

  return { registerService, unregisterService, queryRegisteredServices }
}

function tokenIn(metadata: Metadata): string | undefined {
  const [token] = metadata.get(linkTokenKey)
  return typeof token === 'string' ? token : undefined
}

function reserved(appInstanceId: string): Partial<ServiceError> {
  return {
    code: status.PERMISSION_DENIED,
    details: `The gateway runs the asset link ${appInstanceId} itself. Disable it first: millwright gateway links disable. Or choose another id with --instance.`,
  }
}
