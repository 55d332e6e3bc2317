import type { Impact, ImpactedAsset } from '@millwright/api/inventory/impact.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { DataTable } from '../../../components/tables/data-table.tsx'
import { assetClassIcons, assetClassName } from '../../../components/values/asset-classes.ts'
import { BarChart } from '../../../components/values/bar-chart.tsx'
import { Icon } from '../../../components/values/icon.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { impactMessages } from './messages.ts'

type ImpactViewProps = {
  impact: Impact
  name: string
  /** Whether the view has little space, as in the panel next to the map. */
  isCompact?: boolean
  /** Opens an asset in the panel next to the map. Without it, the name of an asset is a link. */
  onSelect?: (id: string) => void
}

const maxPlaces = { compact: 5, full: 12 } as const

/** `ImpactView` shows the affected and the degraded assets, by place and by class, and as a list. */
export function ImpactView({ impact, name, isCompact = false, onSelect }: ImpactViewProps) {
  const text = useText(impactMessages)
  const formats = useFormats()
  const language = useLanguage()
  const { total, byNode, byClass, assets, mode, truncated } = impact
  const count = total.affected + total.degraded
  if (count === 0) return <EmptyState title={mode === 'fails' ? text.nothingFails(name) : text.nothingDepends(name)} />
  const headline = mode === 'fails' ? text.headlineFails : text.headlineDepends
  // In the panel next to the map, the name of the asset is a heading of level 2.
  const Heading = isCompact ? 'h3' : 'h2'
  const places = byNode.slice(0, isCompact ? maxPlaces.compact : maxPlaces.full)
  return (
    <div className={isCompact ? 'impact impact-compact' : 'impact'}>
      <p className="impact-headline">{headline(name, formats.number(total.affected))}</p>
      <KeyFigures
        figures={[
          { name: text.affected, value: formats.number(total.affected) },
          { name: text.degraded, value: formats.number(total.degraded) },
        ]}
      />
      {!isCompact && (
        <p className="quiet">
          {text.affected}: {text.affectedHint}. {text.degraded}: {text.degradedHint}.
        </p>
      )}
      {truncated && <p role="status">{text.truncated}</p>}
      <div className="impact-charts">
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
      </div>
      <section>
        <Heading>{text.assets}</Heading>
        <ImpactedAssets assets={assets} isCompact={isCompact} {...(onSelect && { onSelect })} />
      </section>
    </div>
  )
}

type ImpactedAssetsProps = Pick<ImpactViewProps, 'isCompact' | 'onSelect'> & { assets: readonly ImpactedAsset[] }

function ImpactedAssets({ assets, isCompact, onSelect }: ImpactedAssetsProps) {
  const text = useText(impactMessages)
  return (
    <DataTable
      label={text.assets}
      rows={assets}
      idOf={({ id }) => id}
      {...(onSelect && { onOpen: ({ id }: ImpactedAsset) => onSelect(id) })}
      columns={[
        {
          id: 'name',
          header: text.name,
          width: isCompact ? 240 : 380,
          cell: ({ id, name, class: each }) => (
            <span className="map-row">
              <Icon name={assetClassIcons[each]} size={16} />
              {onSelect === undefined ? (
                <Link to="/assets/$id" params={{ id }}>
                  {name || text.unnamed}
                </Link>
              ) : (
                name || text.unnamed
              )}
            </span>
          ),
        },
        {
          id: 'effect',
          header: text.effect,
          width: 120,
          cell: ({ effect }) => (
            <StatusChip tone={effect === 'affected' ? 'bad' : 'warning'}>{text[effect]}</StatusChip>
          ),
        },
        ...(isCompact
          ? []
          : [{ id: 'reason', header: text.reason, width: 180, cell: ({ reason }: ImpactedAsset) => text[reason] }]),
      ]}
    />
  )
}
