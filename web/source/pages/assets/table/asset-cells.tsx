import type { Language } from '../../../app/language/language.ts'
import { basePath } from '../../../app/navigation/base-path.ts'
import type { GridColumn } from '../../../components/tables/grid-column.ts'
import { assetClassOfOne } from '../../../components/values/asset-classes.ts'
import { ClassIcon } from '../../../components/values/class-icon.tsx'
import { StatusChip, type Tone } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { type Asset, classOf, customValue, firmwareOf, nameOf, textAt, textsIn, valueAt } from '../model/asset.ts'
import type { AssetProperty } from '../model/asset-property.ts'
import { stateName, valueName } from '../model/value-names.ts'
import { lastChangeText } from './last-change.ts'
import type { TableColumn } from './table-columns.ts'

const tones: Readonly<Record<string, Tone>> = {
  regarded: 'good',
  reached: 'good',
  trusted: 'good',
  pending: 'warning',
  failed: 'bad',
  ignored: 'neutral',
  unknown: 'info',
}

type StateChipProps = { path: string; value: string; language: Language }

export function StateChip({ path, value, language }: StateChipProps) {
  const isUnreached = path.startsWith('reachability_state') && value === 'unknown'
  return (
    <StatusChip tone={isUnreached ? 'neutral' : (tones[value] ?? 'neutral')}>
      {stateName(path, value, language)}
    </StatusChip>
  )
}

/** Returns the grid columns of the asset table. */
export function gridColumns(
  columns: readonly TableColumn[],
  properties: readonly AssetProperty[],
  language: Language,
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
        ...(isFluid && { minWidth: property.minWidth, isGrowing: property.isGrowing === true && !isPinned }),
        isPinned,
        isSortable,
        cell: cellOf(property, language),
      },
    ]
  })
}

function cellOf({ path, kind }: AssetProperty, language: Language): (asset: Asset) => React.ReactNode {
  const [array, field] = path.split('/any/')
  if (path === 'name') {
    // The cell contains a plain link, and the row handles the click. Router links in every row would be too slow.
    return (asset) => (
      <>
        <ClassIcon assetClass={classOf(asset)} language={language} />
        <a href={`${basePath}/assets/${asset.id}`} data-opens-row="" tabIndex={-1} title={nameOf(asset)}>
          {nameOf(asset)}
        </a>
      </>
    )
  }
  if (path === 'asset_class') return (asset) => assetClassOfOne(classOf(asset), language)
  if (path === 'firmware_version') return firmwareOf
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
    return (asset) => {
      const value = textAt(asset, path)
      return value === '' ? null : <StateChip path={path} value={value} language={language} />
    }
  }
  return (asset) => textAt(asset, path)
}
