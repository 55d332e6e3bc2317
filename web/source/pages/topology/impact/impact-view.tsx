import type { Impact, ImpactedAsset } from '@millwright/api/inventory/impact.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { DataTable } from '../../../components/tables/data-table.tsx'
import { assetClassIcons, assetClassName } from '../../../components/values/asset-classes.ts'
import { BarChart } from '../../../components/values/bar-chart.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { usePageRange, visibleIds } from '../../assets/table/page-range.ts'
import { commonParts, distinctName, namesOf } from '../map/names.ts'
import { commonPlace, placesIn } from './common-place.ts'
import { impactMessages } from './messages.ts'
import { reasonText } from './reason.ts'
import { useConditionCell } from './use-condition-cell.ts'

type ImpactViewProps = {
  impact: Impact
  name: string
  /** The predicates of the relations to the asset, by the id of the related asset. */
  predicates?: ReadonlyMap<string, string>
  /** Whether the list shows the present condition of the assets. A saved report contains no condition. */
  hasCondition?: boolean
  /** Whether the view has little space, as in the panel next to the map. */
  isCompact?: boolean
  /** Opens an asset in the panel next to the map. Without it, the name of an asset is a link. */
  onSelect?: (id: string) => void
}

const maxPlaces = { compact: 5, full: 12 } as const

/** `ImpactView` shows the affected and the degraded assets, as a list, by place and by class. */
export function ImpactView({
  impact,
  name,
  predicates,
  hasCondition = false,
  isCompact = false,
  onSelect,
}: ImpactViewProps) {
  const text = useText(impactMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { total, byNode, byClass, mode, truncated } = impact
  const count = total.affected + total.degraded
  if (count === 0) return <EmptyState title={mode === 'fails' ? text.nothingFails(name) : text.nothingDepends(name)} />
  const shown = mode === 'fails' ? total.affected : count
  const headline = (mode === 'fails' ? text.headlineFails : text.headlineDepends)(name, shown, formats.number(shown))
  // In the panel next to the map, the name of the asset is a heading of level 2.
  const Heading = isCompact ? 'h3' : 'h2'
  const places = byNode.slice(0, isCompact ? maxPlaces.compact : maxPlaces.full)
  const place = isCompact ? undefined : commonPlace(impact)
  // A chart with one bar only repeats the number in the headline.
  const hasPlaces = byNode.length > 1 && byNode.some(({ nodeId }) => nodeId !== undefined)
  const hasClasses = byClass.length > 1
  return (
    <div className={isCompact ? 'impact impact-compact' : 'impact'}>
      <Heading className="impact-headline">
        <WithName text={place === undefined ? headline : text.allIn(headline, place)} name={name} />
      </Heading>
      {mode === 'fails' && total.degraded > 0 && (
        <p className="quiet">
          {text.degraded} ({formats.number(total.degraded)}): {text.degradedHint}.
        </p>
      )}
      {truncated && <p role="status">{text.truncated}</p>}
      <section>
        <ImpactedAssets
          impact={impact}
          isCompact={isCompact}
          hasPlaces={!isCompact && place === undefined}
          hasCondition={hasCondition}
          {...(predicates && { predicates })}
          {...(onSelect && { onSelect })}
        />
      </section>
      {(hasPlaces || hasClasses) && (
        <div className="impact-charts">
          {hasPlaces && (
            <section>
              <Heading>{text.byPlace}</Heading>
              <BarChart
                label={text.byPlace}
                bars={places.map(({ nodeId, names, affected, degraded }) => ({
                  key: nodeId ?? 'none',
                  label:
                    nodeId === undefined ? (
                      text.withoutPlace
                    ) : (
                      <Link to="/hierarchy" search={{ node: nodeId } as never}>
                        {names.slice(1).join(' › ')}
                      </Link>
                    ),
                  count: affected + degraded,
                }))}
              />
            </section>
          )}
          {hasClasses && (
            <section>
              <Heading>{text.byClass}</Heading>
              <BarChart
                label={text.byClass}
                bars={byClass.map(({ class: each, affected, degraded }) => ({
                  key: each,
                  label: (
                    <span className="map-row">
                      <Icon name={assetClassIcons[each]} size={16} />
                      {assetClassName(each, language)}
                    </span>
                  ),
                  count: affected + degraded,
                }))}
              />
            </section>
          )}
        </div>
      )}
    </div>
  )
}

/** `WithName` shows a text with the name of an asset that has no line break. */
function WithName({ text, name }: { text: string; name: string }) {
  const at = text.indexOf(name)
  return (
    <>
      {text.slice(0, at)}
      <span>{name}</span>
      {text.slice(at + name.length)}
    </>
  )
}

type ImpactedAssetsProps = Omit<ImpactViewProps, 'name'> & { hasPlaces: boolean }

function ImpactedAssets({
  impact,
  predicates,
  isCompact = false,
  hasPlaces,
  hasCondition = false,
  onSelect,
}: ImpactedAssetsProps) {
  const text = useText(impactMessages)
  const language = useLanguage()
  // With little space, the names leave out the start that all of them have in common.
  const common = isCompact
    ? { start: commonParts(namesOf([impact.asset, ...impact.assets])).start, end: 0 }
    : { start: 0, end: 0 }
  const nameOf = (name: string | undefined) => (name ? distinctName(name, common) : text.unnamed)
  const names = new Map([impact.asset, ...impact.assets].map(({ id, name }) => [id, nameOf(name)]))
  const reasonOf = (impacted: ImpactedAsset) =>
    reasonText(impacted, {
      assetId: impact.asset.id,
      predicate: predicates?.get(impacted.id),
      nameOf: (id) => names.get(id) ?? text.unnamed,
      language,
    })
  const placesOf = placesIn(impact)
  const [range, setRange] = usePageRange()
  const ids = impact.assets.map(({ id }) => id)
  const conditionOf = useConditionCell(hasCondition ? visibleIds(ids, range) : [])
  const isFailure = impact.mode === 'fails'
  // The effect is a column only if it differs: without degraded assets, the heading already names it.
  const hasEffects = isFailure && impact.total.degraded > 0
  return (
    <DataTable
      label={isFailure ? text.assets : text.dependents}
      rows={impact.assets}
      idOf={({ id }) => id}
      onRange={setRange}
      {...(onSelect && { onOpen: ({ id }: ImpactedAsset) => onSelect(id) })}
      columns={[
        {
          id: 'name',
          header: text.name,
          width: isCompact ? (hasEffects ? 110 : 150) : 240,
          isGrowing: !isCompact,
          cell: ({ id, name, class: each }) => (
            <span className="map-row">
              <Icon name={assetClassIcons[each]} size={16} />
              {onSelect === undefined ? (
                <Link to="/assets/$id" params={{ id }}>
                  {nameOf(name)}
                </Link>
              ) : (
                <button
                  type="button"
                  className="link-button map-name"
                  title={name || text.unnamed}
                  onClick={() => onSelect(id)}
                >
                  {nameOf(name)}
                </button>
              )}
            </span>
          ),
        },
        ...(isCompact
          ? []
          : [
              {
                id: 'product',
                header: text.product,
                width: 220,
                isGrowing: true,
                cell: ({ product_name }: ImpactedAsset) => product_name ?? '–',
              },
            ]),
        ...(hasPlaces
          ? [
              {
                id: 'place',
                header: text.place,
                width: 220,
                cell: (asset: ImpactedAsset) => placesOf(asset) || text.withoutPlace,
              },
            ]
          : []),
        ...(hasEffects
          ? [
              {
                id: 'effect',
                header: text.effect,
                width: 120,
                cell: ({ effect }: ImpactedAsset) => (
                  <StatusChip tone={effect === 'affected' ? 'bad' : 'warning'}>{text[effect]}</StatusChip>
                ),
              },
            ]
          : []),
        ...(hasCondition
          ? [
              {
                id: 'condition',
                header: text.condition,
                width: 160,
                isGrowing: true,
                cell: ({ id }: ImpactedAsset) => conditionOf(id),
              },
            ]
          : []),
        {
          id: 'reason',
          header: isFailure ? text.reason : text.relationHeader,
          width: isCompact ? (hasEffects ? 150 : 210) : 240,
          isGrowing: !isCompact,
          cell: reasonOf,
        },
      ]}
    />
  )
}
