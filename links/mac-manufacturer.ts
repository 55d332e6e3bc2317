import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { manufacturerName } from './manufacturer-name.ts'

/**
 * The manufacturers of MAC addresses. The IEEE assigns blocks of addresses: the first 6, 7 or 9 hexadecimal digits name
 * the manufacturer. The data are the public IEEE registries MA-L, MA-M and MA-S in the npm package oui-data (version
 * 2.1.9 of 2026). They are loaded at the first use, because they take some megabytes.
 */
let registry: Promise<ReadonlyMap<string, string>> | undefined

const prefixLengths = [9, 7, 6] as const

/** The names of blocks whose owner is not published, and of blocks that the IEEE divides into smaller ones. */
const withoutOwner: readonly string[] = ['Private', 'IEEE Registration Authority']

/**
 * Returns the manufacturer of the network interface with this MAC address. Returns undefined if the block is not assigned,
 * and for locally administered and multicast addresses, which no manufacturer assigned.
 */
export async function macManufacturer(macAddress: string): Promise<string | undefined> {
  const digits = macAddress.replaceAll(/[:.-]/g, '').toUpperCase()
  if (!/^[0-9A-F]{12}$/.test(digits) || (Number.parseInt(digits.slice(0, 2), 16) & 0b11) !== 0) return undefined
  registry ??= loadRegistry()
  const names = await registry
  const owner = prefixLengths.map((length) => names.get(digits.slice(0, length))).find((name) => name !== undefined)
  return owner === undefined || withoutOwner.includes(owner) ? undefined : manufacturerName(owner)
}

/** Loads the registry. Each entry is the name of the owner and its postal address, of which only the name is stored. */
async function loadRegistry(): Promise<ReadonlyMap<string, string>> {
  const text = await readFile(fileURLToPath(import.meta.resolve('oui-data')), 'utf8')
  const entries: [string, string][] = Object.entries(JSON.parse(text))
  const owners = new Map<string, string>()
  return new Map(
    entries.map(([prefix, entry]) => {
      const owner = entry.split('\n', 1)[0]?.trim() ?? ''
      // One text per owner: a slice of the file would keep the whole file in memory.
      if (!owners.has(owner)) owners.set(owner, Buffer.from(owner).toString())
      return [prefix, owners.get(owner) ?? owner]
    }),
  )
}
