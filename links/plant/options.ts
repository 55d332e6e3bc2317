import { join } from 'node:path'
import { DurableStore } from '@millwright/link-sdk/durable-store.ts'
import { wholeNumber } from '@millwright/link-sdk/network/range.ts'
import { defaultOptionsOf, type Options } from '@millwright/link-sdk/parameters.ts'
import { faultsNamed, type UpdateSettings } from './fault.ts'
import { manifest } from './manifest.ts'
import { type Plant, plantLimits } from './simulator.ts'

/** `ScannedPlant` is a plant with the behaviour of its devices in updates. */
export type ScannedPlant = Plant & { updates: UpdateSettings }

const longestRestartMs = 600_000

export function plantOf(options: Options): ScannedPlant {
  return {
    size: wholeNumber(options, 'size', { least: 1, most: plantLimits.size }),
    seed: wholeNumber(options, 'seed', { most: plantLimits.seed }),
    tick: wholeNumber(options, 'tick', { most: plantLimits.tick }),
    changesPercent: wholeNumber(options, 'changes_percent', { most: 100 }),
    protectedPercent: wholeNumber(options, 'protected_percent', { most: 100 }),
    silentPercent: wholeNumber(options, 'silent_percent', { most: 100 }),
    updates: {
      faultPercent: wholeNumber(options, 'update_fault_percent', { most: 100 }),
      faults: faultsNamed('update_faults', options),
      restartMs: wholeNumber(options, 'update_restart_ms', { most: longestRestartMs }),
    },
  }
}

/** The stores of this process, by the folder of the link. */
const stores = new Map<string | undefined, DurableStore<ScannedPlant>>()

function storeOf(home: string | undefined): DurableStore<ScannedPlant> {
  const open = stores.get(home)
  if (open !== undefined) return open
  const store = new DurableStore<ScannedPlant>(home === undefined ? undefined : join(home, 'plants'))
  stores.set(home, store)
  return store
}

/**
 * Stores the plant of the last scan. When a device is read or updated later, it has the state that it had in this scan,
 * even after a restart of the link.
 */
export async function rememberPlant(plant: ScannedPlant, home: string | undefined): Promise<void> {
  const key = String(plant.seed)
  const store = storeOf(home)
  if (JSON.stringify(store.get(key)) !== JSON.stringify(plant)) await store.set(key, plant)
}

export function isRemembered({ seed }: Plant, home: string | undefined): boolean {
  return storeOf(home).get(String(seed)) !== undefined
}

export function plantOfSeed(seed: number, home: string | undefined): ScannedPlant {
  return storeOf(home).get(String(seed)) ?? { ...plantOf(defaults), seed }
}

const defaults: Options = defaultOptionsOf(manifest)
