import type { Tone } from '../../../components/values/status-chip.tsx'

const failures: ReadonlySet<string> = new Set(['defective', 'error_search', 'no_power'])
const normal: ReadonlySet<string> = new Set(['run', 'run_redundant', 'run_odis', 'link_up'])

/** Returns the name of an operating mode. Devices show the same words, so they are not translated. */
export function modeName(mode: string): string {
  return mode.charAt(0).toUpperCase() + mode.slice(1).replaceAll('_', ' ')
}

export function modeTone(mode: string): Tone {
  if (failures.has(mode)) return 'bad'
  if (mode === 'stop') return 'critical'
  return normal.has(mode) ? 'good' : 'warning'
}
