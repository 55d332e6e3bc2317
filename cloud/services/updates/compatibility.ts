import type { Artefact, PlanOutcome } from '@millwright/api/updates.ts'
import { compareVersions } from '@millwright/api/version-order.ts'
import { type VersionStep, versionPath } from './version-path.ts'

/** Whether an artefact can be installed on a device, and with which steps. */

/** The fields of an artefact that decide on which devices it can be installed. */
export type InstallableArtefact = VersionStep &
  Pick<Artefact, 'kind' | 'name' | 'manufacturer'> & {
    readonly products: readonly string[]
    readonly hardwareVersions?: readonly string[] | null | undefined
  }

/** The fields of an asset that decide which artefacts can be installed on its device. */
export type DeviceProduct = {
  manufacturer?: string | undefined
  productId?: string | undefined
  productName?: string | undefined
  hardwareVersion?: string | undefined
  firmwareVersion?: string | undefined
  /** The software components that are not firmware. */
  software?: readonly { name: string; version: string }[] | undefined
}

export type Compatibility = {
  outcome: Extract<PlanOutcome, 'update' | 'current' | 'incompatible'>
  reason?: string
  /** The installed version that the artefact replaces. */
  fromVersion?: string
  steps: { artefactId: string; version: string }[]
}

export type CompatibilityOptions = {
  allowsDowngrade: boolean
  /** Other artefacts that can be installed, for the path of versions. Those for other products are ignored. */
  others: readonly InstallableArtefact[]
}

/** Returns whether an artefact can be installed on a device, or the reason why it cannot. */
export function assessCompatibility(
  artefact: InstallableArtefact,
  device: DeviceProduct,
  { allowsDowngrade, others }: CompatibilityOptions,
): Compatibility {
  const installed = installedVersion(artefact, device)
  const refuse = (reason: string): Compatibility => ({ outcome: 'incompatible', reason, ...from(installed), steps: [] })
  const mismatch = productMismatch(artefact, device)
  if (mismatch !== undefined) return refuse(mismatch)
  if (hasVersion(artefact) && installed !== undefined) {
    const order = compareVersions(installed, artefact.version)
    if (order === 0) {
      return { outcome: 'current', reason: `Version ${installed} is installed`, ...from(installed), steps: [] }
    }
    if (order > 0 && !allowsDowngrade) {
      return refuse(
        `The installed version ${installed} is newer than ${artefact.version}. Allow downgrades in the campaign to install it`,
      )
    }
  }
  const steps = versionPath(artefact, requiredVersion(artefact, device), stepsFor(artefact, device, others))
  if (steps === undefined) return refuse(noPath(artefact, requiredVersion(artefact, device)))
  return { outcome: 'update', ...from(installed), steps: steps.map(({ id, version }) => ({ artefactId: id, version })) }
}

/** Returns why an artefact is not intended for a device. Returns undefined if it is. */
export function productMismatch(artefact: InstallableArtefact, device: DeviceProduct): string | undefined {
  const { manufacturer, productId, productName, hardwareVersion } = device
  if (artefact.kind === 'logfile') return 'A log file cannot be installed'
  if (manufacturer === undefined) return 'The manufacturer of the asset is not known'
  if (!isSame(manufacturer, artefact.manufacturer)) {
    return `The manufacturer is ${manufacturer}, but the artefact is for ${artefact.manufacturer}`
  }
  const names = [productId, productName].filter((name) => name !== undefined)
  if (names.length === 0) return 'The product of the asset is not known'
  if (!artefact.products.some((product) => names.some((name) => isSame(product, name)))) {
    return `The artefact is not for the product ${names.join(', ')}`
  }
  const versions = artefact.hardwareVersions ?? []
  if (versions.length === 0) return undefined
  if (hardwareVersion === undefined) return 'The hardware version of the asset is not known'
  if (versions.some((version) => compareVersions(version, hardwareVersion) === 0)) return undefined
  return `The artefact is not for the hardware version ${hardwareVersion}`
}

/** Returns whether a device reports the version of such artefacts, so that versions can be compared. */
function hasVersion({ kind }: InstallableArtefact): boolean {
  return kind === 'firmware' || kind === 'software'
}

/**
 * Returns the installed version that an artefact replaces. For software, this is the version of the software component with
 * the name of the artefact or of one of its products.
 */
export function installedVersion(artefact: InstallableArtefact, device: DeviceProduct): string | undefined {
  if (artefact.kind === 'firmware') return known(device.firmwareVersion)
  if (artefact.kind !== 'software') return undefined
  const names = [artefact.name, ...artefact.products]
  return known(device.software?.find(({ name }) => names.some((each) => isSame(each, name)))?.version)
}

/** Returns the version that `requires` refers to: for a configuration or a backup, the version of the firmware. */
function requiredVersion(artefact: InstallableArtefact, device: DeviceProduct): string | undefined {
  return hasVersion(artefact) ? installedVersion(artefact, device) : known(device.firmwareVersion)
}

/** Returns the artefacts of the same kind that can be installed on the device before this one. */
function stepsFor(artefact: InstallableArtefact, device: DeviceProduct, others: readonly InstallableArtefact[]) {
  if (!hasVersion(artefact)) return []
  return others.filter(
    (other) =>
      other.id !== artefact.id &&
      other.kind === artefact.kind &&
      (artefact.kind !== 'software' || isSame(other.name, artefact.name)) &&
      productMismatch(other, device) === undefined,
  )
}

function noPath({ requires, version }: InstallableArtefact, installed: string | undefined): string {
  const ranges = (requires ?? []).flatMap(({ from: range }) => (range === undefined ? [] : [range])).join(' || ')
  if (installed === undefined) {
    return `The installed version is not known. Version ${version} can be installed only on ${ranges}`
  }
  return `Version ${version} can be installed only on ${ranges}, and no other artefacts lead from version ${installed} to one of these versions`
}

function isSame(one: string, other: string): boolean {
  return one.trim().toLowerCase() === other.trim().toLowerCase()
}

function known(version: string | undefined): string | undefined {
  return version === undefined || version.trim() === '' ? undefined : version
}

function from(installed: string | undefined) {
  return installed === undefined ? {} : { fromVersion: installed }
}
