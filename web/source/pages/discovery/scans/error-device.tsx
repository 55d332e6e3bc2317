import type { Discovery, DiscoveryRun } from '@millwright/api/discovery.ts'
import type { DeviceError } from '@millwright/api/gatekeeper.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { type Asset, nameOf } from '../../assets/model/asset.ts'
import { addressOfDevice } from '../../credentials/flow/credential-start.ts'
import { discoveryMessages } from '../messages.ts'
import { useAssetsAt, useAssetsNamed } from './error-devices.ts'
import { namedDevice } from './error-groups.ts'

/** The assets of the devices of errors. */
export type DevicesOfErrors = {
  /** The assets by the address of the device. */
  assets: ReadonlyMap<string, Asset>
  /** The addresses that no asset has. */
  absent: ReadonlySet<string>
  /** The assets by the name that a problem contains. */
  named: ReadonlyMap<string, Asset>
}

/** Loads the assets of the devices of errors. */
export function useDevicesOfErrors(errors: readonly DeviceError[]): DevicesOfErrors {
  const named = useAssetsNamed(errors.flatMap(({ description }) => namedDevice(description) ?? []))
  return { ...useAssetsAt(errors), named }
}

type AlsoMissingNoteProps = {
  scan: Pick<Discovery, 'jobId'>
  run: DiscoveryRun
  /** The number of missing devices with an error of the run, if it is known. */
  withError: number | undefined
}

/** `AlsoMissingNote` states how many of the devices with errors are also missing, and links to the other missing devices. */
export function AlsoMissingNote({ scan, run, withError }: AlsoMissingNoteProps) {
  const text = useText(discoveryMessages)
  const { number } = useFormats()
  if (withError === undefined || withError === 0) return null
  const others = run.gone - withError
  return (
    <p className="quiet section-note">
      {text.missingBelow(number(run.gone), number(withError))}
      {others > 0 && (
        <>
          {', '}
          <Link to={`/discovery/scans/${scan.jobId}`} search={{ view: 'gone', run: run.id } as never}>
            {text.missingWithout(number(others))}
          </Link>
        </>
      )}
    </p>
  )
}

/** `ErrorDevice` names the device of an error, with a link to its asset, or that the inventory does not contain the device. */
export function ErrorDevice({ error, devices }: { error: DeviceError; devices: DevicesOfErrors }) {
  const text = useText(discoveryMessages)
  const address = addressOfDevice(error.device) ?? ''
  const name = namedDevice(error.description)
  const part = devices.named.get(name ?? '')
  return (
    <>
      <DeviceOfError asset={devices.assets.get(address)} part={part} name={name} address={deviceName(error.device)} />
      {part === undefined && devices.absent.has(address) && (
        <span className="quiet" title={text.nameOfLink}>
          {' '}
          {text.notInInventory}
        </span>
      )}
    </>
  )
}

/** Returns the asset of the device of an error, or undefined if the inventory does not contain the device. */
export function assetOfError(
  { device, description }: DeviceError,
  { assets, named }: Pick<DevicesOfErrors, 'assets' | 'named'>,
): Asset | undefined {
  const asset = assets.get(addressOfDevice(device) ?? '')
  const name = namedDevice(description)
  const part = named.get(name ?? '')
  return part ?? (asset !== undefined && isModule(asset, { name, address: deviceName(device) }) ? undefined : asset)
}

/** Returns whether an error is that of a module, which is reached through the asset. */
function isModule(asset: Asset, { name, address }: { name: string | undefined; address: string }): boolean {
  return name !== undefined && name !== nameOf(asset) && !name.includes(address)
}

type DeviceOfErrorProps = {
  /** The asset that has the address of the device. */
  asset: Asset | undefined
  /** The asset with the name of the device. */
  part: Asset | undefined
  /** The name of the device in the problem. */
  name: string | undefined
  address: string
}

/** `DeviceOfError` names the device of an error. A module is named with the device through which it is reached. */
function DeviceOfError({ asset, part, name, address }: DeviceOfErrorProps) {
  const text = useText(discoveryMessages)
  if (asset === undefined) return part === undefined ? (name ?? address) : <AssetLink asset={part} />
  if (!isModule(asset, { name, address })) return <AssetLink asset={asset} />
  return (
    <>
      {part === undefined ? name : <AssetLink asset={part} />}{' '}
      <span className="quiet">{part === undefined ? text.reachedThrough : text.moduleOf}</span>{' '}
      <AssetLink asset={asset} />
    </>
  )
}

function AssetLink({ asset }: { asset: Asset }) {
  return <Link to={`/assets/${asset.id}`}>{nameOf(asset)}</Link>
}

/** Returns the readable values of a device address. The format of the address depends on the asset link. */
export function deviceName(device: DeviceError['device']): string {
  const values = Object.values(device ?? {})
  const words = values.filter((value) => typeof value === 'string')
  return (words.length > 0 ? words : values.filter((value) => typeof value === 'number')).join(', ')
}
