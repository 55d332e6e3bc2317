import { wholeNumber } from '@millwright/link-sdk/network/range.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { manifest } from './manifest.ts'
import { type Plant, plantLimits } from './simulator.ts'

export function plantOf(options: Options): Plant {
  return {
    size: wholeNumber(options, 'size', { least: 1, most: plantLimits.size }),
    seed: wholeNumber(options, 'seed', { most: plantLimits.seed }),
    tick: wholeNumber(options, 'tick', { most: plantLimits.tick }),
    changesPercent: wholeNumber(options, 'changes_percent', { most: 100 }),
    protectedPercent: wholeNumber(options, 'protected_percent', { most: 100 }),
    silentPercent: wholeNumber(options, 'silent_percent', { most: 100 }),
  }
}

const lastSeen = new Map<number, Plant>()

/** Stores the plant of the last scan. When a device is read later, it has the state that it had in this scan. */
export function rememberPlant(plant: Plant): void {
  lastSeen.set(plant.seed, plant)
}

export function plantOfSeed(seed: number): Plant {
  return lastSeen.get(seed) ?? { ...plantOf(defaults), seed }
}

const defaults: Options = Object.fromEntries((manifest.options ?? []).map(({ key, default: value }) => [key, value]))
