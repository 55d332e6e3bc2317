import type { ExportState } from '@millwright/api/exports.ts'
import type { ImportState } from '@millwright/api/imports.ts'
import { useText } from '../../app/language/language-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { fileMessages } from './messages.ts'

type State = ImportState | ExportState

const tones: Readonly<Record<State, Tone>> = {
  queued: 'neutral',
  running: 'info',
  canceling: 'warning',
  finished: 'good',
  failed: 'bad',
  canceled: 'neutral',
}

/** `RunState` shows the state of an import or export, and its progress while it runs. */
export function RunState({ state, progress }: { state: State; progress: number }) {
  const text = useText(fileMessages)
  if (state === 'running') return <Progress value={progress} label={text.progress} />
  return <StatusChip tone={tones[state]}>{state === 'failed' ? text.failedState : text[state]}</StatusChip>
}
