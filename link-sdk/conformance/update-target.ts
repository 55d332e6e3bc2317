import { once } from 'node:events'
import { status } from '@grpc/grpc-js'
import { linkServices } from '@millwright/api/link-protocol.ts'
import type { DiscoveredDevice } from '@millwright/api/proto/generated/discover_pb.js'
import { codeOf, NotApplicable, type Subject } from './check.ts'
import { valuesOf } from './device-values.ts'

const { artefactUpdate, artefactTransfer } = linkServices

/** Returns the update service that the link has: the current one, or the one with the prefix `factory_x`. */
export async function updateServiceOf(subject: Subject): Promise<typeof artefactUpdate | typeof artefactTransfer> {
  for (const service of [artefactUpdate, artefactTransfer]) {
    const code = await codeOfStream(subject.converse(service.method.prepareUpdate, []))
    if (code !== status.UNIMPLEMENTED) return service
  }
  throw new NotApplicable('The link has no update interface.')
}

/** Reads a stream to its end, and returns the status of the call. */
export async function codeOfStream(stream: NodeJS.ReadableStream): Promise<number> {
  stream.resume()
  try {
    await once(stream, 'end')
    return status.OK
  } catch (error) {
    return codeOf(error)
  }
}

/** Returns the bytes that name the devices in updates. Devices without valid metadata and address are left out. */
export function namedDevices(devices: readonly DiscoveredDevice[]): Uint8Array[] {
  return devices.flatMap((device) => bytesOf(device) ?? [])
}

/** Returns the metadata of a device or, without metadata, its address as JSON, as a gateway does. */
function bytesOf(device: DiscoveredDevice): Uint8Array | undefined {
  const metadata = valuesOf(device).find(({ path }) => path === 'metadata')?.value
  if (metadata === undefined) {
    const { parameterJson = '' } = device.connectionParameterSet ?? {}
    return parameterJson === '' ? undefined : Buffer.from(parameterJson)
  }
  if (metadata.case !== 'text') return undefined
  const bytes = Buffer.from(metadata.value, 'base64')
  const withoutPadding = (text: string) => text.replaceAll('=', '')
  const isBase64 = withoutPadding(bytes.toString('base64')) === withoutPadding(metadata.value)
  return isBase64 && bytes.length > 0 ? bytes : undefined
}
