import { LinkError } from '@millwright/link-sdk/link-error.ts'
import type { Options } from '@millwright/link-sdk/parameters.ts'
import { draw, pick } from './draw.ts'

/**
 * The faults that a device can have in an update.
 *
 * | Fault | Behaviour of the device |
 * |---|---|
 * | `slow` | The transfer takes ten times as long as a restart. The update succeeds. |
 * | `fails-at-60` | The transfer fails at 60 %, in every attempt. |
 * | `reboots` | The device restarts in the activation and the call fails. Then it runs the new version. |
 * | `wrong-version` | The activation succeeds, but the device starts with its old version. |
 * | `no-answer` | The device does not answer the activation. Half of these devices run the new version afterwards. |
 */
export const faults = ['slow', 'fails-at-60', 'reboots', 'wrong-version', 'no-answer'] as const
export type Fault = (typeof faults)[number]

/** `UpdateSettings` describes how the devices of a plant behave in updates. */
export type UpdateSettings = {
  faultPercent: number
  faults: readonly Fault[]
  /** The time that a device needs for a restart. It does not respond during this time. */
  restartMs: number
}

/** The salts of the pseudo-random numbers. They differ from the salts of the simulator. */
const salts = { isFaulty: 10, fault: 11, isActivated: 12 } as const

type PlantDevice = { seed: number; index: number }

/** Returns the fault of a device. It depends only on the seed, the device and the settings. */
export function faultOf({ seed, index }: PlantDevice, settings: UpdateSettings): Fault | undefined {
  const [first, ...others] = settings.faults
  if (first === undefined || draw(seed, index, salts.isFaulty) % 10_000 >= settings.faultPercent * 100) return undefined
  return pick([first, ...others], draw(seed, index, salts.fault))
}

/** Returns true when a device that does not answer the activation runs the new version afterwards. */
export function isActivatedWithoutAnswer({ seed, index }: PlantDevice): boolean {
  return draw(seed, index, salts.isActivated) % 2 === 0
}

/** Parses the names of faults, separated by commas. An empty text selects all faults. */
export function faultsNamed(key: string, options: Options): readonly Fault[] {
  const names = String(options[key] ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  const known: readonly string[] = faults
  const unknown = names.find((name) => !known.includes(name))
  if (unknown !== undefined) {
    throw new LinkError(
      'INVALID_ARGUMENT',
      `"${unknown}" is not a fault that this link can simulate. Choose one of ${faults.join(', ')} in the option ${key}.`,
    )
  }
  return names.length === 0 ? faults : faults.filter((fault) => names.includes(fault))
}
