import { formatsOf } from '../../../app/language/formats.ts'
import type { Language } from '../../../app/language/language.ts'
import { basePath } from '../../../app/navigation/base-path.ts'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import { assetClassOfOne } from '../../../components/values/asset-classes.ts'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { CutText } from '../../../components/values/cut-text.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { Time } from '../../../components/values/time.tsx'
import { assetsMessages } from '../messages.ts'
import { type Asset, classOf, customValue, firmwareOf, nameOf, textAt, textsIn, valueAt } from '../model/asset.ts'
import { type AssetProperty, conditionPath, placePath } from '../model/asset-property.ts'
import { type Condition, conditionsOf, conditionTones, isOutdated, lastKnownStop } from '../model/condition.ts'
import { stateName, valueName } from '../model/value-names.ts'
import type { PlaceOf } from './asset-places.ts'
import type { StateOf } from './asset-states.ts'
import { lastChangeText } from './last-change.ts'
import type { TableColumn } from './table-columns.ts'

const tones: Readonly<Record<string, Tone>> = {
  regarded: 'good',
  trusted: 'good',
  pending: 'warning',
  failed: 'bad',
  ignored: 'neutral',
  unknown: 'info',
}

type StateChipProps = { path: string; value: string; language: Language }

export function StateChip({ path, value, language }: StateChipProps) {
  const isUnseen = path.startsWith('reachability_state') && value === 'unknown'
  return (
    <StatusChip tone={isUnseen ? 'neutral' : (tones[value] ?? 'neutral')}>
      {stateName(path, value, language)}
    </StatusChip>
  )
}

/** The states that most assets have. A table shows them without colour, so that the other states stand out. */
const normalStates: ReadonlySet<string> = new Set(['regarded', 'trusted'])

function State({ path, value, language }: StateChipProps) {
  if (normalStates.has(value)) return stateName(path, value, language)
  return value === '' ? null : <StateChip path={path} value={value} language={language} />
}

type ConditionCellProps = {
  asset: Asset
  all: readonly Condition[]
  newestVersion: string | undefined
  language: Language
}

/**
 * `ConditionCell` shows the worst condition of an asset. The tooltip contains all conditions, and the time of the last report of
 * monitoring, a scan or an import. Most devices can be unmonitored, so this state has no icon.
 */
export function ConditionCell({ asset, all, newestVersion, language }: ConditionCellProps) {
  const text = assetsMessages[language]
  const [worst] = all
  // Software and gateways have no condition, because monitoring checks only devices.
  if (worst === undefined) {
    return (
      <span className="quiet" title={text.noCondition}>
        –
      </span>
    )
  }
  const stoppedAt = worst === 'stopped' ? lastKnownStop(asset) : undefined
  const seenAt = textAt(asset, 'reachability_state/state_timestamp')
  const details = [
    ...all.map((condition) => text[condition]),
    stoppedAt !== undefined && text.lastKnownMode(formatsOf(language).dateTime(stoppedAt)),
    newestVersion !== undefined &&
      all.includes('outdated') &&
      `${firmwareOf(asset)}, ${text.newestSeen(newestVersion)}`,
    seenAt !== '' && text.lastReport(formatsOf(language).dateTime(seenAt)),
  ]
  const title = details.filter(Boolean).join('\n')
  if (worst === 'unmonitored')
    return (
      <span className="quiet" title={title}>
        {text.unmonitored}
      </span>
    )
  return (
    <StatusText tone={conditionTones[worst]} isLastKnown={stoppedAt !== undefined} title={title}>
      {stoppedAt === undefined ? text[worst] : text.lastStopped}
    </StatusText>
  )
}

/** Returns the cell of the condition. */
export function conditionCell({ newestVersion, stateOf }: Omit<CellSources, 'placeOf'>, language: Language) {
  return (asset: Asset) => {
    const newest = newestVersion(asset)
    const all = conditionsOf(asset, { monitored: stateOf(asset.id), newestVersion: newest })
    return <ConditionCell asset={asset} all={all} newestVersion={newest} language={language} />
  }
}

/** The number of nodes of a path that a table shows. The tooltip contains the whole path. */
const shownNodes = 2

/** `PlaceName` shows the last names of the path to the hierarchy node of an asset. */
export function PlaceName({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <span className="quiet">–</span>
  return <span title={names.join(' › ')}>{names.slice(-shownNodes).join(' › ')}</span>
}

/** The data of cells that is not part of the asset. */
type CellSources = { newestVersion: (asset: Asset) => string | undefined; stateOf: StateOf; placeOf?: PlaceOf }

/** Returns the grid columns of the asset table. */
export function gridColumns(
  columns: readonly TableColumn[],
  properties: readonly AssetProperty[],
  language: Language,
  { newestVersion, stateOf, placeOf = () => [] }: CellSources,
): GridColumn<Asset>[] {
  const hasCondition = columns.some(({ path }) => path === conditionPath)
  return columns.flatMap(({ path, width, isPinned }) => {
    const property = properties.find((each) => each.path === path)
    if (property === undefined) return []
    const { title, shortTitle, isSortable } = property
    // A column that the user has resized keeps its width.
    const isFluid = width === property.width
    return [
      {
        id: path,
        header: (shortTitle ?? title)[language],
        width,
        ...(isFluid
          ? { minWidth: property.minWidth, isGrowing: property.isGrowing === true && !isPinned }
          : { isFixed: true }),
        isPinned,
        isSortable,
        cell:
          path === 'firmware_version'
            ? firmwareCell(hasCondition ? undefined : newestVersion, language)
            : path === conditionPath
              ? conditionCell({ newestVersion, stateOf }, language)
              : path === placePath
                ? ({ id }: Asset) => <PlaceName names={placeOf(id)} />
                : cellOf(property, language),
      },
    ]
  })
}

/**
 * Returns the cell of the firmware version. In a table without the condition, it marks versions that are older than the newest one
 * of the product.
 */
function firmwareCell(newestVersion: ((asset: Asset) => string | undefined) | undefined, language: Language) {
  return (asset: Asset) => {
    const version = firmwareOf(asset)
    const newest = newestVersion?.(asset)
    if (newest === undefined || !isOutdated(asset, newest)) return version
    const { older, newestSeen } = assetsMessages[language]
    return (
      <span title={`${version}, ${newestSeen(newest)}`}>
        {version} <span className="older-mark">{older}</span>
      </span>
    )
  }
}

function cellOf({ path, kind }: AssetProperty, language: Language): (asset: Asset) => React.ReactNode {
  const [array, field] = path.split('/any/')
  if (path === 'name') {
    // The cell contains a plain link, and the row handles the click. Router links in every row would be too slow.
    return (asset) => (
      <span className="grid-name">
        <ClassIcon assetClass={classOf(asset)} language={language} />
        <a href={`${basePath}/assets/${asset.id}`} data-opens-row="" tabIndex={-1} title={nameOf(asset)}>
          <CutText text={nameOf(asset)} />
        </a>
      </span>
    )
  }
  if (path === 'asset_class') return (asset) => assetClassOfOne(classOf(asset), language)
  if (path === 'last_change/what') return (asset) => lastChangeText(asset, language)
  if (path === 'functional_object_type') return (asset) => valueName(path, textAt(asset, path), language)
  if (array !== undefined && field !== undefined) return (asset) => textsIn(asset, array, field).join(', ')
  if (path.startsWith('custom_properties/')) return (asset) => customValue(asset, path.split('/')[1] ?? '')
  if (kind === 'time') {
    return (asset) => {
      const at = valueAt(asset, path)
      return typeof at === 'string' ? <Time at={at} /> : null
    }
  }
  if (kind === 'state') {
    return (asset) => <State path={path} value={textAt(asset, path)} language={language} />
  }
  return (asset) => textAt(asset, path)
}
