import type {
  Campaign,
  CampaignDevice,
  CampaignState,
  DeviceState,
  PlanOutcome,
  SignatureState,
} from '@millwright/api/updates.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { StatusChip, type Tone } from '../../components/values/status-chip.tsx'
import {
  campaignErrorTexts,
  campaignStateNames,
  deviceStateNames,
  outcomeNames,
  signatureNames,
} from './state-names.ts'

const signatureTones: Readonly<Record<SignatureState, Tone>> = {
  missing: 'warning',
  unchecked: 'info',
  valid: 'good',
  untrusted: 'warning',
  invalid: 'bad',
}

export function SignatureChip({ state }: { state: SignatureState }) {
  return <StatusChip tone={signatureTones[state]}>{useText(signatureNames)[state]}</StatusChip>
}

const campaignTones: Readonly<Record<CampaignState, Tone>> = {
  draft: 'neutral',
  'pending-approval': 'warning',
  running: 'info',
  paused: 'warning',
  stopped: 'bad',
  finished: 'good',
  canceled: 'neutral',
}

/** `CampaignStateChip` shows the state of a campaign. A campaign that ended with failed updates shows their number. */
export function CampaignStateChip({ campaign: { state, counts } }: { campaign: Pick<Campaign, 'state' | 'counts'> }) {
  const names = useText(campaignStateNames)
  const text = useText(campaignErrorTexts)
  const formats = useFormats()
  if (state !== 'finished' || counts.failed === 0)
    return <StatusChip tone={campaignTones[state]}>{names[state]}</StatusChip>
  return <StatusChip tone="warning">{text.withErrors(counts.failed, formats.number(counts.failed))}</StatusChip>
}

export const deviceTones: Readonly<Record<DeviceState, Tone>> = {
  waiting: 'neutral',
  downloading: 'info',
  transferring: 'info',
  prepared: 'info',
  activating: 'info',
  verifying: 'info',
  succeeded: 'good',
  failed: 'bad',
  unknown: 'warning',
  skipped: 'neutral',
  canceled: 'neutral',
}

/** The states in which a device reports its progress. */
const withProgress: readonly DeviceState[] = ['downloading', 'transferring']

/** `DeviceStateChip` shows the state of a device, and its progress while content is transferred. */
export function DeviceStateChip({
  device: { state, progress },
}: {
  device: Pick<CampaignDevice, 'state' | 'progress'>
}) {
  const name = useText(deviceStateNames)[state]
  return (
    <span className="device-state">
      <StatusChip tone={deviceTones[state]}>{name}</StatusChip>
      {withProgress.includes(state) && <Progress value={progress} label={name} />}
    </span>
  )
}

const outcomeTones: Readonly<Record<PlanOutcome, Tone>> = {
  update: 'info',
  current: 'good',
  incompatible: 'bad',
  'no-link': 'warning',
  forbidden: 'warning',
  busy: 'warning',
}

export function OutcomeChip({ outcome }: { outcome: PlanOutcome }) {
  return <StatusChip tone={outcomeTones[outcome]}>{useText(outcomeNames)[outcome]}</StatusChip>
}
