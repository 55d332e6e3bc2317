import type { Impact } from '@millwright/api/inventory/impact.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { Card } from '../../../components/page/card.tsx'
import { assetClassIcons, assetClassName } from '../../../components/values/asset-classes.ts'
import { Icon } from '../../../components/values/icon.tsx'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { type Asset, firmwareOf, textAt } from '../../assets/model/asset.ts'
import { stateName } from '../../assets/model/value-names.ts'
import { assetEvents, relationEvents } from '../asset-data.ts'
import { useAvailability } from '../availability/availability-data.ts'
import { modeName, modeTone } from './operating-mode.ts'
import { statusMessages } from './status-messages.ts'
import './status.css'

/** `AssetStatus` answers what matters first: does the device respond, is its firmware current, is it unique, what depends on it. */
export function AssetStatus({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  return (
    <section className="asset-status" aria-label={text.status}>
      <Reachability asset={asset} />
      <OperatingMode asset={asset} />
      <Firmware asset={asset} />
      <Duplicates assetId={asset.id} />
      <Dependents assetId={asset.id} />
    </section>
  )
}

type TileProps = { title: string; value: ReactNode; tone?: Tone; children?: ReactNode }

function Tile({ title, value, tone = 'neutral', children }: TileProps) {
  return (
    <div className="status-tile" data-tone={tone}>
      <h2>{title}</h2>
      <p className="status-value">{value}</p>
      <p className="quiet">{children}</p>
    </div>
  )
}

function Reachability({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const language = useLanguage()
  const results = useAvailability(asset.id).data?.data.results
  const state = textAt(asset, 'reachability_state/state_value')
  const since = textAt(asset, 'reachability_state/state_timestamp')
  const tone: Tone = state === 'reached' ? 'good' : state === 'failed' || state === 'unreachable' ? 'bad' : 'neutral'
  if (tone === 'neutral')
    return (
      <Tile title={text.reachability} value={text.notChecked}>
        {text.notCheckedHint}
      </Tile>
    )
  // Scans find devices. Gateways and asset links report their state themselves.
  const isFound = tone === 'good' && textAt(asset, 'functional_object_type') === 'Device'
  const sourceText = results?.length !== 0 ? text.monitoredSince : isFound ? text.seenByScan : text.since
  return (
    <Tile title={text.reachability} value={stateName('reachability_state', state, language)} tone={tone}>
      {results !== undefined && since !== '' && sourceText(formats.dateTime(since))}
    </Tile>
  )
}

/** `OperatingMode` is hidden for devices that do not report their operating mode. */
function OperatingMode({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  const mode = textAt(asset, 'operating_mode/mode_name')
  if (mode === '' || mode === 'not_supported') return null
  const tone = modeTone(mode)
  return (
    <Tile title={text.mode} value={modeName(mode)} tone={tone}>
      {tone !== 'good' && text.notRunning}
    </Tile>
  )
}

function Firmware({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  const query = useOperationQuery()
  const live = { live: ['updates', ...assetEvents] }
  const updates = useQuery(query(['updates', 'readAssetUpdates'], { params: { id: asset.id } }, live)).data?.data
  const newest = updates?.artefacts.find(({ outcome }) => outcome === 'update')
  const version = updates?.version ?? firmwareOf(asset)
  return (
    <Tile title={text.firmware} value={version || text.unknownVersion} {...(newest && { tone: 'warning' })}>
      {newest !== undefined ? (
        <TabLink tab="updates">{text.updateTo(newest.version)}</TabLink>
      ) : (
        updates !== undefined && (updates.artefacts.length === 0 ? text.noArtefacts : text.noUpdate)
      )}
    </Tile>
  )
}

/** The maximum number of possible duplicates that are counted. */
const maxDuplicates = 100

function Duplicates({ assetId }: { assetId: string }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const input = { query: { asset: assetId, limit: maxDuplicates } }
  const pairs = useQuery(query(['inventory', 'listDuplicates'], input, { live: assetEvents })).data?.data
  const count = pairs?.length ?? 0
  if (count === 0)
    return (
      <Tile title={text.duplicates} value={pairs === undefined ? '…' : text.noDuplicates}>
        {pairs !== undefined && text.uniqueHint}
      </Tile>
    )
  return (
    <Tile title={text.duplicates} value={text.possibleDuplicates(count, formats.number(count))} tone="warning">
      <TabLink tab="identity">{text.compare}</TabLink>
    </Tile>
  )
}

function useDependents(assetId: string): Impact | undefined {
  const query = useOperationQuery()
  const input = { params: { id: assetId }, query: { mode: 'depends' as const } }
  return useQuery(query(['inventory', 'readImpact'], input, { live: relationEvents })).data?.data
}

function countOf({ total }: Impact): number {
  return total.affected + total.degraded
}

function Dependents({ assetId }: { assetId: string }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const impact = useDependents(assetId)
  const count = impact === undefined ? 0 : countOf(impact)
  if (impact === undefined || count === 0)
    return (
      <Tile title={text.dependents} value={impact === undefined ? '…' : text.noDependents}>
        {impact !== undefined && text.noDependentsHint}
      </Tile>
    )
  const shown = text.dependentCount(count, formats.number(count))
  return (
    <Tile title={text.dependents} value={impact.truncated ? text.atLeast(shown) : shown} tone="info">
      <TabLink tab="impact">{text.showImpact}</TabLink>
    </Tile>
  )
}

function TabLink({ tab, children }: { tab: string; children: ReactNode }) {
  return (
    <Link to="." search={{ tab } as never}>
      {children}
    </Link>
  )
}

/** The number of dependents that the card names. */
const namedDependents = 5

/** `DependentsCard` names the first dependents of an asset, and counts all of them by class. It is hidden if there are none. */
export function DependentsCard({ assetId }: { assetId: string }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const language = useLanguage()
  const impact = useDependents(assetId)
  const count = impact === undefined ? 0 : countOf(impact)
  if (impact === undefined || count === 0) return null
  const named = impact.assets.slice(0, namedDependents)
  return (
    <Card title={text.dependents} actions={<TabLink tab="impact">{text.showImpact}</TabLink>}>
      <ul className="class-counts">
        {impact.byClass.map(({ class: assetClass, affected, degraded }) => (
          <li key={assetClass}>
            <Icon name={assetClassIcons[assetClass]} size={16} /> {assetClassName(assetClass, language)}{' '}
            <strong>{formats.number(affected + degraded)}</strong>
          </li>
        ))}
      </ul>
      <ul className="plain-list dependents">
        {named.map(({ id, name }) => (
          <li key={id}>
            <Link to={`/assets/${id}`}>{name ?? id}</Link>
          </li>
        ))}
        {count > named.length && <li className="quiet">{text.moreDependents(formats.number(count - named.length))}</li>}
      </ul>
    </Card>
  )
}
