import type { Discovery } from '@millwright/api/discovery.ts'
import type { discoveryMessages } from '../messages.ts'

/**
 * Returns why a run does not know which devices are missing, in few words and in detail. Returns undefined for a run that was compared
 * with another run.
 */
export function notComparedOf(
  { state, comparedRun }: Pick<Discovery, 'state' | 'comparedRun'>,
  text: (typeof discoveryMessages)['en'],
): { name: string; detail: string } | undefined {
  if (comparedRun !== undefined) return undefined
  if (state === 'finished') return { name: text.firstRun, detail: text.missingFirst }
  const isActive = state === 'created' || state === 'running'
  return { name: text.notFinished, detail: isActive ? text.missingAtEnd : text.missingNotFinished }
}
