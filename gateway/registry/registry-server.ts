import { once } from 'node:events'
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net'
import type { PeerCertificate } from 'node:tls'
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
import type { GatewayTls, TlsPeer } from '../tls/gateway-tls.ts'
import { infoOf, registrationFrom, registrationLimits } from './registration.ts'
import type { Registry } from './registry.ts'

type Options = {
  registry: Registry
  host: string
  port: number
  vendors: readonly string[]
  /** With TLS, the server accepts only links with a certificate of the gateway. */
  tls?: GatewayTls | undefined
  /** Further services for links at the same address. */
  services?: readonly [ServiceDefinition, UntypedServiceImplementation][]
}

type Answer = (error: Partial<ServiceError> | null, value?: object) => void

type Unary<Request> = (
  call: { request: Request; metadata: Metadata; getAuthContext: () => { sslPeerCertificate?: PeerCertificate } },
  answer: Answer,
) => void

/** `RegistryServer` serves the registry over gRPC, with the service names of every vendor prefix. */
export class RegistryServer {
  readonly #server: Server
  readonly #listener: NetServer | undefined
  readonly port: number

  private constructor(server: Server, port: number, listener?: NetServer) {
    this.#server = server
    this.#listener = listener
    this.port = port
  }

  static async start(options: Options): Promise<RegistryServer> {
    const { registry, host, port, vendors, tls, services = [] } = options
    // The library would print an error if the port is in use. The error is returned too.
    setLogVerbosity(logVerbosity.NONE)
    // Without this option, a second gateway could listen on the same port and receive half of the registrations.
    const server = new Server({ 'grpc.so_reuseport': 0, ...(tls === undefined ? {} : tlsServerOptions) })
    for (const vendor of vendors) {
      const service = wireService(linkServices.registry, interfaceName(linkServices.registry, vendor))
      server.addService(service, handlersFor({ registry, vendor, tls }))
    }
    for (const [definition, implementation] of services) server.addService(definition, implementation)
    if (tls !== undefined) return RegistryServer.#startTls(server, tls, options)
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

  /** Listens with TLS. The number of connections is limited, because other machines can open connections. */
  static async #startTls(server: Server, tls: GatewayTls, { host, port }: Options): Promise<RegistryServer> {
    const injector = server.createConnectionInjector(tls.grpcServerCredentials)
    const sockets = new Set<Socket>()
    const listener = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => sockets.delete(socket))
      injector.injectConnection(socket)
    })
    listener.maxConnections = tlsConnections
    listener.on('close', () => {
      for (const socket of sockets) socket.destroy()
    })
    listener.listen(port, host)
    await once(listener, 'listening').catch(({ code }: NodeJS.ErrnoException) => {
      throw new SetupError(
        `The registry with TLS cannot listen on ${host}, port ${port} (${code}): set MILLWRIGHT_GATEWAY_TLS_HOST to an address of this machine and MILLWRIGHT_GATEWAY_TLS_PORT to a free port.`,
      )
    })
    return new RegistryServer(server, (listener.address() as AddressInfo).port, listener)
  }

  async stop(): Promise<void> {
    this.#listener?.close()
    this.#server.forceShutdown()
  }
}

/** The maximum number of connections of links on other machines. */
const tlsConnections = 512

/** A link opens a new connection for each registration, so an idle connection is not needed. */
const tlsServerOptions = { 'grpc.max_connection_idle_ms': 5 * 60_000 } as const

type HandlerOptions = { registry: Registry; vendor: string; tls: GatewayTls | undefined }

function handlersFor({ registry, vendor, tls }: HandlerOptions) {
  /** Answers a call with the owner of the certificate. Without TLS, there is none. */
  const withPeer =
    <Request>(
      handle: (call: Parameters<Unary<Request>>[0], peer: TlsPeer | undefined, answer: Answer) => void,
    ): Unary<Request> =>
    (call, answer) => {
      try {
        handle(call, tls?.peerOf(call.getAuthContext().sslPeerCertificate, 'link'), answer)
      } catch (error) {
        answer({ code: status.PERMISSION_DENIED, details: (error as Error).message })
      }
    }

  const registerService = withPeer<RegisterServiceRequest>(({ request, metadata }, peer, answer) => {
    const registration = registrationFrom(request.info, vendor)
    if ('fault' in registration) return answer({ code: status.INVALID_ARGUMENT, details: registration.fault })
    const { appInstanceId, host } = registration
    const fault = registry.certificateFault(appInstanceId, peer) ?? hostFault(host, peer)
    if (fault !== undefined) return answer({ code: status.PERMISSION_DENIED, details: fault })
    if (!registry.isAllowed(appInstanceId, tokenIn(metadata))) return answer(reserved(appInstanceId))
    if (!registry.register(peer === undefined ? registration : { ...registration, tls: peer })) {
      return answer({
        code: status.RESOURCE_EXHAUSTED,
        details: `The gateway has reached its limit of ${gatekeeperLimits.linksPerGateway} asset links`,
      })
    }
    answer(null, { expireTime: registrationLimits.lifeSeconds })
  })

  const unregisterService = withPeer<UnregisterServiceRequest>(({ request, metadata }, peer, answer) => {
    if (request.info === undefined) return answer({ code: status.INVALID_ARGUMENT, details: 'info is missing' })
    const { appInstanceId } = request.info
    const fault = registry.certificateFault(appInstanceId, peer)
    if (fault !== undefined) return answer({ code: status.PERMISSION_DENIED, details: fault })
    if (!registry.isAllowed(appInstanceId, tokenIn(metadata))) return answer(reserved(appInstanceId))
    if (registry.unregister(appInstanceId)) return answer(null, {})
    // The definition of the interface requires this status, although clients treat all errors in the same way.
    answer({ code: status.NOT_FOUND, details: `Asset link ${appInstanceId} is not registered` })
  })

  const queryRegisteredServices = withPeer<QueryRegisteredServicesRequest>(({ request }, peer, answer) => {
    const all = registry.query(request.filter)
    // A link on another machine sees only its own registration.
    const visible = peer === undefined ? all : all.filter(({ appInstanceId }) => appInstanceId === peer.name)
    answer(null, { infos: visible.map(infoOf) })
  })

  return { registerService, unregisterService, queryRegisteredServices }
}

function hostFault(host: string, peer: TlsPeer | undefined): string | undefined {
  if (peer === undefined || peer.hasHost(host)) return undefined
  return `The certificate of ${peer.name} does not contain the address ${host}. Create a certificate with --host ${host}, or set the address of the link with --advertised-host.`
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
