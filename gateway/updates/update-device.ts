import type { DeviceConnections } from '../device-info/device-connections.ts'
import { type DeviceAccess, deviceOf, type ReadService } from '../device-info/device-info.ts'
import type { DeviceMetadata } from '../device-info/device-metadata.ts'
import { type Credential, type JobCredentials, maxPerAddress } from '../job-credentials.ts'
import type { UpdateDevice } from './link-updates.ts'
import type { DeviceDefinition } from './update-job.ts'

/** The parts of the gateway that know how a link names its devices. */
export type DeviceNames = { metadata: DeviceMetadata; connections: DeviceConnections }

/**
 * Returns the texts by which a link identifies the device of a job: the `metadata` that the link reported in a discovery or,
 * if it reported none, the base64 text of the JSON of the connection parameters.
 */
export function updateDeviceOf(
  definition: DeviceDefinition,
  { metadata, connections }: DeviceNames,
  access?: DeviceAccess,
): UpdateDevice {
  const { assetLinkId, assetIdentifiers } = definition
  const names = metadata.find(assetLinkId, assetIdentifiers)
  const [address = ''] = addressesOf(definition)
  return {
    blob: names.metadata ?? Buffer.from(parametersOf(definition, { connections, access })).toString('base64'),
    id: names.id ?? names.metadata ?? address,
  }
}

type ParameterOptions = { connections: DeviceConnections; access: DeviceAccess | undefined }

function parametersOf(definition: DeviceDefinition, { connections, access }: ParameterOptions): string {
  const { target } = destinationOf(definition, { connections, access, service: 'deviceInfo' })
  return target?.case === 'connectionParameterSet' ? (target.value.parameterJson ?? '') : ''
}

/** Returns the destination with which a link reads the device of a job. */
export function destinationOf(
  definition: DeviceDefinition,
  { connections, access, service }: ParameterOptions & { service: ReadService },
) {
  const { assetLinkId, assetIdentifiers, addresses = [] } = definition
  const places = access === undefined ? addresses : [access.address]
  const found = connections.find(assetLinkId, { addresses: places, identifiers: assetIdentifiers })
  const nearest = service === 'identifiers' ? connections.findNearest(assetLinkId, places) : undefined
  return deviceOf(definition, { service, connection: found ?? nearest, access })
}

/** Returns the addresses of a device. Addresses at which the link found the device come first. */
export function addressesOf({ addresses = [], foundAddresses = [] }: DeviceDefinition): string[] {
  return [...new Set(foundAddresses.length > 0 ? foundAddresses : addresses)]
}

/**
 * `DeviceCredentials` selects the credentials for the device of a job. The gateway requests them once, when the first call
 * without credentials was refused.
 */
export class DeviceCredentials {
  readonly #source: JobCredentials
  readonly #addresses: string[]
  #choices: Promise<DeviceAccess[]> | undefined

  constructor(source: JobCredentials, definition: DeviceDefinition) {
    this.#source = source
    this.#addresses = addressesOf(definition)
  }

  /** Returns the credentials to try, in order. */
  async choices(): Promise<DeviceAccess[]> {
    this.#choices ??= this.#request()
    try {
      return await this.#choices
    } catch (error) {
      this.#choices = undefined
      throw error
    }
  }

  /** Returns a credential that the device accepted before, or undefined if it is no longer available. */
  async find(instanceId: string): Promise<DeviceAccess | undefined> {
    return (await this.choices()).find(({ credential }) => credential.instanceId === instanceId)
  }

  async #request(): Promise<DeviceAccess[]> {
    if (this.#addresses.length === 0) return []
    const chosen = await this.#source.ask(this.#addresses)
    const all = [...chosen].flatMap(([address, some]) =>
      some.map((credential: Credential) => ({ address, credential })),
    )
    return all.slice(0, maxPerAddress)
  }
}
