import type { AssetLink, Discovery } from '@millwright/api/discovery.ts'
import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { useText } from '../../app/language/language-context.tsx'
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
  canceled: 'warning',
}

export function ScanState({ state }: { state: Discovery['state'] }) {
  const text = useText(discoveryMessages)
  return <StatusChip tone={scanTones[state]}>{state === 'created' ? text.waiting : text[state]}</StatusChip>
}
