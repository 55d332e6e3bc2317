import { type Campaign, type CampaignTargets, updateLimits, type Wave } from '@millwright/api/updates.ts'
import { integerOf } from '../../../components/forms/integer.ts'
import { type WindowForm, windowFormOf, windowOf } from '../windows/window-form.ts'

/** How the user chooses the targets of a campaign. */
export const targetKinds = ['products', 'filter', 'node', 'assets'] as const
export type TargetKind = (typeof targetKinds)[number]

export type TargetForm = {
  kind: TargetKind
  filter: string
  nodeId: string | undefined
  /** The chosen assets. The name is undefined if it is not known. */
  assets: readonly { id: string; name?: string | undefined }[]
}

export type WaveRow = { kind: 'percent' | 'count'; value: string }

/** `RolloutForm` contains the conditions under which a campaign runs, as the user types them. */
export type RolloutForm = {
  name: string
  waves: readonly WaveRow[]
  stop: string
  hasWindow: boolean
  window: WindowForm
  needsApproval: boolean
  concurrentDevices: string
  verifyMinutes: string
  allowsDowngrade: boolean
}

export type InvalidRolloutField = 'name' | 'waves' | 'stop' | 'window' | 'concurrentDevices' | 'verifyMinutes'

export const emptyTargets: TargetForm = { kind: 'products', filter: '', nodeId: undefined, assets: [] }

/** The waves of a new campaign: a small part of the devices first, then the rest. */
export const firstWaves: readonly WaveRow[] = [
  { kind: 'percent', value: '10' },
  { kind: 'percent', value: '90' },
]

export function newRollout(): RolloutForm {
  return {
    name: '',
    waves: firstWaves,
    stop: '10',
    hasWindow: false,
    window: windowFormOf(),
    needsApproval: false,
    concurrentDevices: '20',
    verifyMinutes: String(updateLimits.verifyMinutes.default),
    allowsDowngrade: false,
  }
}

export function targetsOfCampaign({ targets }: Campaign): TargetForm {
  return 'filter' in targets
    ? { ...emptyTargets, kind: 'filter', filter: targets.filter }
    : { ...emptyTargets, kind: 'assets', assets: targets.assetIds.map((id) => ({ id })) }
}

export function rolloutOfCampaign(campaign: Campaign): RolloutForm {
  return {
    name: campaign.name,
    waves: campaign.waves.map((wave) =>
      'percent' in wave
        ? { kind: 'percent', value: String(wave.percent) }
        : { kind: 'count', value: String(wave.count) },
    ),
    stop: String(campaign.stopOnFailurePercent),
    hasWindow: campaign.window !== undefined,
    window: windowFormOf(campaign.window),
    needsApproval: campaign.approval === 'required',
    concurrentDevices: String(campaign.concurrentDevices),
    verifyMinutes: String(campaign.verifyMinutes),
    allowsDowngrade: campaign.allowsDowngrade,
  }
}

/** Returns the targets in a form, without those of a node. Returns undefined if the user has not chosen any. */
export function targetsOf({ kind, filter, assets }: TargetForm, ofProducts: string): CampaignTargets | undefined {
  if (kind === 'products') return { filter: ofProducts }
  if (kind === 'filter') return filter.trim() === '' ? undefined : { filter: filter.trim() }
  return kind === 'assets' && assets.length > 0 ? { assetIds: assets.map(({ id }) => id) } : undefined
}

/** Returns the fields of a campaign in a form, or the first field that is not valid. */
export function rolloutOf(form: RolloutForm) {
  const name = form.name.trim()
  if (name === '') return { invalid: 'name' } as const
  const waves = form.waves.map(waveOf)
  if (!waves.every((wave) => wave !== undefined)) return { invalid: 'waves' } as const
  const stopOnFailurePercent = percentOf(form.stop)
  if (stopOnFailurePercent === undefined) return { invalid: 'stop' } as const
  const window = form.hasWindow ? windowOf(form.window) : undefined
  if (window !== undefined && 'invalid' in window) return { invalid: 'window' } as const
  const concurrentDevices = integerOf(form.concurrentDevices, updateLimits.concurrentDevices)
  if (concurrentDevices === undefined) return { invalid: 'concurrentDevices' } as const
  const verifyMinutes = integerOf(form.verifyMinutes, updateLimits.verifyMinutes.maximum)
  if (verifyMinutes === undefined) return { invalid: 'verifyMinutes' } as const
  return {
    name,
    waves,
    stopOnFailurePercent,
    window,
    approval: form.needsApproval ? ('required' as const) : ('none' as const),
    concurrentDevices,
    verifyMinutes,
    allowsDowngrade: form.allowsDowngrade,
  }
}

/** Returns the wave of a row, or undefined if its value is not valid. */
export function waveOf({ kind, value }: WaveRow): Wave | undefined {
  if (kind === 'count') {
    const count = integerOf(value, updateLimits.targets)
    return count === undefined ? undefined : { count }
  }
  const percent = percentOf(value)
  return percent === undefined || percent === 0 ? undefined : { percent }
}

/** Returns a percentage from 0 to 100. Both decimal separators are allowed. */
function percentOf(text: string): number | undefined {
  const number = /^\d{1,3}([.,]\d{1,3})?$/.test(text.trim()) ? Number(text.trim().replace(',', '.')) : 101
  return number <= 100 ? number : undefined
}
