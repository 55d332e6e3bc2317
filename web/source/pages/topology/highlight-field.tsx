import { type AssetClass, assetClasses } from '@millwright/api/asset-class.ts'
import { monitoringCounts, type TopologyGroups } from '@millwright/api/inventory/topology-groups.ts'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { SelectField } from '../../components/forms/fields.tsx'
import { assetClassName } from '../../components/values/asset-classes.ts'
import type { MapEmphasis } from './map-emphasis.ts'
import { mapMessages } from './map-messages.ts'

type HighlightFieldProps = {
  data: TopologyGroups
  emphasis: MapEmphasis
  onChange: (emphasis: MapEmphasis) => void
}

/** The states in the order of their importance. */
const states = [
  'unreachable',
  'unchecked',
  'unmonitored',
  'reachable',
] as const satisfies (typeof monitoringCounts)[number][]

/** `HighlightField` chooses the assets that are highlighted on the map by state or class, with their numbers. */
export function HighlightField({ data, emphasis, onChange }: HighlightFieldProps) {
  const text = useText(mapMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { total, unavailable } = data
  const labelled = (name: string, count: number) => text.withNumber(name, formats.number(count))
  const hasMonitoring = !unavailable.includes('monitoring')
  const choices = [
    { value: '', label: text.problems },
    ...states
      .filter((state) => total.monitoring[state] > 0 && (hasMonitoring || state === 'unreachable'))
      .map((state) => ({
        value: state,
        label: labelled(state === 'unmonitored' ? text.devicesWithout : text[state], total.monitoring[state]),
      })),
    ...(total.stopped > 0 ? [{ value: 'stopped', label: labelled(text.inStop, total.stopped) }] : []),
    ...(total.stoppedRead > 0 && total.stoppedRead < total.stopped
      ? [{ value: 'stoppedRead', label: labelled(text.inStopRead, total.stoppedRead) }]
      : []),
    ...(total.outdated > 0 ? [{ value: 'outdated', label: labelled(text.outdated, total.outdated) }] : []),
    ...[...classCounts(data)].map(([each, count]) => ({
      value: each,
      label: labelled(assetClassName(each, language), count),
    })),
  ]
  const chosen = choiceOf(emphasis)
  return (
    <SelectField
      label={text.highlight}
      value={choices.some(({ value }) => value === chosen) ? chosen : ''}
      choices={choices}
      onChange={(value) => onChange(emphasisOf(value))}
    />
  )
}

function choiceOf(emphasis: MapEmphasis): string {
  if (emphasis === undefined) return ''
  if (emphasis === 'stopped' || emphasis === 'stoppedRead' || emphasis === 'outdated') return emphasis
  if ('state' in emphasis) return emphasis.state
  return 'class' in emphasis ? emphasis.class : ''
}

function emphasisOf(value: string): MapEmphasis {
  const state = monitoringCounts.find((each) => each === value)
  if (state !== undefined) return { state }
  const assetClass = assetClasses.find((each) => each === value)
  if (assetClass !== undefined) return { class: assetClass }
  return value === 'stopped' || value === 'stoppedRead' || value === 'outdated' ? value : undefined
}

/** Returns the number of assets of each class, most frequent first. */
function classCounts({ groups, assets }: Pick<TopologyGroups, 'groups' | 'assets'>): Map<AssetClass, number> {
  const counts = new Map<AssetClass, number>()
  const add = (each: AssetClass, count: number) => counts.set(each, (counts.get(each) ?? 0) + count)
  for (const group of groups) for (const { class: each, assets: count } of group.classes) add(each, count)
  for (const asset of assets) if (asset.change !== 'removed') add(asset.class, 1)
  return new Map([...counts].toSorted(([, one], [, other]) => other - one))
}
