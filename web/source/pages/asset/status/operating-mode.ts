import type { Output } from '../../../app/api/client.ts'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { isGatewayAuthor } from '../../activity/author-name.ts'
import { textAt } from '../../assets/model/asset.ts'

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

export const modeField = 'operating_mode/mode_name'

type HistoryEntry = Output<'inventory', 'readHistory'>['data'][number]

/** Returns the entry of the history that set the current operating mode. The newest entry is first. */
export function modeChange(mode: string, history: readonly HistoryEntry[]): HistoryEntry | undefined {
  return history.find(({ before, after }) => textAt(after, modeField) === mode && textAt(before, modeField) !== mode)
}

/** Returns whether a person or a program set an operating mode, so that no gateway has read it from the device. */
export function isSetByClient({ principalName, source }: Pick<HistoryEntry, 'principalName' | 'source'>): boolean {
  return source.type === 'manual' && !isGatewayAuthor(principalName)
}
