import { isSoftwareIdentifier } from '@millwright/api/asset-firmware.ts'
import { LruMap } from 'toad-cache'
import { DelayedFile, readIfExists, storedItems } from '../durable-file.ts'
import type { Log } from '../log.ts'
import type { MappingResult } from '../mapping/asset.ts'
import { documentsOf } from '../mapping/document.ts'
import { digestsOf } from './device-connections.ts'

type Options = { file: string; log: Log }

/** `ReportedNames` are the texts by which a link names a device. */
type ReportedNames = {
  /** The `metadata` that the link reported, which it gets back in an update. */
  metadata?: string
  /** The `id` that the link reported. Links of the first generation get it back in an update. */
  id?: string
}

type Stored = ReportedNames & { assetLinkId: string; identifiers: string[] }

const limits = { devices: 10_000, characters: 4_096 } as const

/**
 * `DeviceMetadata` stores the texts by which links name their devices, by link and identifiers of the device. The texts are
 * stored on disk, so that devices can be updated after a restart of the gateway. They are not part of the inventory.
 */
export class DeviceMetadata {
  readonly #file: DelayedFile
  readonly #devices = new LruMap<Stored>(limits.devices)

  private constructor(options: Options) {
    this.#file = new DelayedFile({
      ...options,
      content: () => JSON.stringify([...this.#devices.items.values()].map(({ value }) => value)),
      failure: 'the metadata of devices could not be written',
    })
  }

  static async open(options: Options): Promise<DeviceMetadata> {
    const metadata = new DeviceMetadata(options)
    for (const stored of storedItems(await readIfExists(options.file), isStored))
      metadata.#devices.set(keyOf(stored), stored)
    return metadata
  }

  /** Stores the texts of a device that a link found. Texts above the limit are ignored. */
  set(assetLinkId: string, { asset, metadata, id }: Pick<MappingResult, 'asset' | 'metadata' | 'id'>): void {
    const identifiers = identityOf(asset?.asset_identifiers)
    const names = {
      ...(isShort(metadata) ? { metadata } : {}),
      ...(isShort(id) ? { id } : {}),
    }
    if (identifiers.length === 0 || Object.keys(names).length === 0) return
    const stored: Stored = { assetLinkId, identifiers, ...names }
    const before = this.#devices.get(keyOf(stored))
    if (before !== undefined && JSON.stringify(before) === JSON.stringify(stored)) return
    this.#devices.set(keyOf(stored), stored)
    this.#file.change()
  }

  /** Returns the texts of the device with the most of these identifiers. */
  find(assetLinkId: string, identifiers: unknown): ReportedNames {
    const digests = new Set(identityOf(identifiers))
    const shared = (one: Stored) => one.identifiers.filter((digest) => digests.has(digest)).length
    const candidates = [...this.#devices.items.values()].flatMap(({ value }) =>
      value.assetLinkId === assetLinkId && shared(value) > 0 ? [value] : [],
    )
    // The device that was found last is first among devices with the same number of identifiers.
    const [best] = candidates.toReversed().toSorted((a, b) => shared(b) - shared(a))
    const { metadata, id } = best ?? {}
    return { ...(metadata === undefined ? {} : { metadata }), ...(id === undefined ? {} : { id }) }
  }

  close(): Promise<void> {
    return this.#file.close()
  }
}

/** Returns the digests of the identifiers of a device. The version of its software is left out, because updates change it. */
export function identityOf(identifiers: unknown): string[] {
  return digestsOf(documentsOf(identifiers).filter((one) => !isSoftwareIdentifier(one)))
}

function keyOf({ assetLinkId, identifiers }: Stored): string {
  return `${assetLinkId} ${identifiers.join(' ')}`
}

function isShort(text: string | undefined): text is string {
  return text !== undefined && text.length <= limits.characters
}

function isStored(value: Partial<Stored> | null): value is Stored {
  const { assetLinkId, identifiers, metadata = '', id = '' } = value ?? {}
  return (
    Array.isArray(identifiers) && [assetLinkId, metadata, id, ...identifiers].every((text) => typeof text === 'string')
  )
}
