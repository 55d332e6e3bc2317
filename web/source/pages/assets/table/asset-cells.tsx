import type { Language } from '../../../app/language/language.ts'
import { basePath } from '../../../app/navigation/base-path.ts'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import { assetClassOfOne } from '../../../components/values/asset-classes.ts'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { CutText } from '../../../components/values/cut-text.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { assetsMessages } from '../messages.ts'
import { type Asset, classOf, customValue, firmwareOf, nameOf, textAt, textsIn, valueAt } from '../model/asset.ts'
import { type AssetProperty, placePath } from '../model/asset-property.ts'
import { stateName, valueName } from '../model/value-names.ts'
import type { PlaceOf } from './asset-places.ts'
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

/** `Unreachable` marks an asset that the last check did not reach, also in a table without the column for it. */
function Unreachable({ asset, language }: { asset: Asset; language: Language }) {
  const path = 'reachability_state/state_value'
  const value = textAt(asset, path)
  return value !== 'failed' ? null : (
    <>
      {' '}
      <StateChip path={path} value={value} language={language} />
    </>
  )
}

/** `LastSeen` shows when a device was last seen by monitoring, a scan or an import, or that it is unreachable. */
function LastSeen({ asset, language }: { asset: Asset; language: Language }) {
  const path = 'reachability_state/state_value'
  const value = textAt(asset, path)
  if (value === 'reached') return <Time at={textAt(asset, 'reachability_state/state_timestamp')} isRelative isShort />
  if (value === 'unknown' || value === '') return <span className="quiet">{stateName(path, 'unknown', language)}</span>
  return <StateChip path={path} value={value} language={language} />
}

/** The number of nodes of a path that a table shows. The tooltip contains the whole path. */
const shownNodes = 2

function PlaceName({ names }: { names: readonly string[] }) {
  if (names.length === 0) return <span className="quiet">–</span>
  return <span title={names.join(' › ')}>{names.slice(-shownNodes).join(' › ')}</span>
}

/** The data of cells that is not part of the asset. */
type CellSources = { newestVersion?: (asset: Asset) => string | undefined; placeOf?: PlaceOf }

/** Returns the grid columns of the asset table. */
export function gridColumns(
  columns: readonly TableColumn[],
  properties: readonly AssetProperty[],
  language: Language,
  { newestVersion = () => undefined, placeOf = () => [] }: CellSources = {},
): GridColumn<Asset>[] {
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
            ? firmwareCell(newestVersion, language)
            : path === placePath
              ? ({ id }: Asset) => <PlaceName names={placeOf(id)} />
              : cellOf(property, language),
      },
    ]
  })
}

/** Returns the cell of the firmware version. It marks versions that are older than the newest one of the product. */
function firmwareCell(newestVersion: (asset: Asset) => string | undefined, language: Language) {
  return (asset: Asset) => {
    const version = firmwareOf(asset)
    const newest = newestVersion(asset)
    if (version === '' || newest === undefined || newest === version) return version
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
  if (path === 'reachability_state/state_value') return (asset) => <LastSeen asset={asset} language={language} />
  if (path === 'management_state/state_value') {
    return (asset) => (
      <>
        <State path={path} value={textAt(asset, path)} language={language} />
        <Unreachable asset={asset} language={language} />
      </>
    )
  }
  if (kind === 'state') {
    return (asset) => <State path={path} value={textAt(asset, path)} language={language} />
  }
  return (asset) => textAt(asset, path)
}
