import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { credentials, type GrpcObject, loadPackageDefinition, type makeClientConstructor } from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'

type ServiceClient = InstanceType<ReturnType<typeof makeClientConstructor>>

const sources = join(import.meta.dirname, '../../api/proto')

/**
 * Returns the protocol with the prefix of a vendor. It is loaded from the .proto files, without the generated protocol
 * code.
 */
export function foreignProtocol(vendor: string): GrpcObject {
  const folder = mkdtempSync(join(tmpdir(), 'millwright-protocol-'))
  try {
    const names = globSync('*.proto', { cwd: sources })
    for (const name of names) {
      const text = readFileSync(join(sources, name), 'utf8')
      writeFileSync(join(folder, name), text.replaceAll(/\bmillwright\./g, `${vendor}.`))
    }
    const options = { keepCase: true, longs: String, enums: String, oneofs: true, includeDirs: [folder] }
    return loadPackageDefinition(loadSync(names, options))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/**
 * Returns a client of one service, such as `industrialassethub.discover.v1.DeviceDiscoverApi`, without the generated
 * protocol code.
 */
export function foreignClient(vendor: string, service: string, endpoint: string): ServiceClient {
  let found: unknown = foreignProtocol(vendor)
  for (const part of [vendor, ...service.split('.')]) found = (found as Record<string, unknown>)[part]
  const Client = found as new (address: string, credentials_: unknown) => ServiceClient
  return new Client(endpoint, credentials.createInsecure())
}

/** Calls a unary method and returns its response. */
export function askForeign(client: ServiceClient, method: string, request: object): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    client[method]?.(request, (error: Error | null, answer: Record<string, unknown>) =>
      error === null ? resolve(answer) : reject(error),
    )
  })
}
