import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import { discoveryMessages } from './messages.ts'

const gatewayTones: Record<OnboardedGateway['state'], Tone> = {
  online: 'good',
  offline: 'bad',
  created: 'info',
  config_expired: 'warning',
  revoked: 'warning',
}

export function GatewayState({ state }: { state: OnboardedGateway['state'] }) {
  const text = useText(discoveryMessages)
  return <StatusChip tone={gatewayTones[state]}>{text[state]}</StatusChip>
}

export function LinkState({ link }: { link: AssetLink }) {
  const text = useText(discoveryMessages)
  if (link.state === 'gone') return <StatusChip>{text.unregistered}</StatusChip>
  if (!link.reachable) return <StatusChip tone="bad">{text.unreachable}</StatusChip>
  if (!link.compatible) return <StatusChip tone="warning">{text.incompatible}</StatusChip>
  return <StatusChip tone="good">{text.reachable}</StatusChip>
}

const scanTones: Record<Discovery['state'], Tone> = {
  created: 'info',
  running: 'info',
  finished: 'good',
  failed: 'bad',
  canceled: 'neutral',
}

type ScanStateProps = {
  scan: Pick<Discovery, 'jobId' | 'state' | 'errors'>
  /** Whether the chip of a finished run shows the errors in few words, for narrow columns. */
  isShort?: boolean
}

/** `ScanState` shows the state of the latest run of a scan. If devices reported errors, it links to the errors. */
export function ScanState({ scan: { jobId, state, errors }, isShort = false }: ScanStateProps) {
  const text = useText(discoveryMessages)
  const formats = useFormats()
  const name = state === 'created' ? text.waiting : text[state]
  if (errors === 0 || state === 'created' || state === 'running')
    return <StatusChip tone={scanTones[state]}>{name}</StatusChip>
  const shown = text.withErrors(name, errors, formats.number(errors))
  return (
    <Link to={`/discovery/scans/${jobId}`} search={{ view: 'errors' } as never} title={shown} className="chip-link">
      <StatusChip tone={state === 'finished' ? 'warning' : scanTones[state]}>
        {isShort && state === 'finished' ? text.finishedShort(errors, formats.number(errors)) : shown}
      </StatusChip>
    </Link>
  )
}
