import type { Impact } from '@millwright/api/inventory/impact.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import type { Tone } from '../../../components/values/status-chip.tsx'
import { authorName } from '../../activity/author-name.ts'
import { type Asset, firmwareOf, textAt } from '../../assets/model/asset.ts'
import { hasRecentEvidence } from '../../assets/model/reachability.ts'
import { stateName } from '../../assets/model/value-names.ts'
import { useNewestVersion } from '../../start/newest-version.ts'
import { setSelectedAssets } from '../../updates/wizard/selected-assets.ts'
import { assetEvents, relationEvents, useLatestHistory } from '../asset-data.ts'
import { useAvailability } from '../availability/availability-data.ts'
import { isSetByClient, modeChange, modeField, modeName, modeTone } from './operating-mode.ts'
import { statusMessages } from './status-messages.ts'
import './status.css'

/** The id of the text in the tile that states why the header offers a scan. */
export const noGatewayId = 'no-gateway'

type ReachabilityProps = {
  asset: Asset
  /** Whether an asset link found the asset. Monitoring checks only such devices. */
  isFoundByScan: boolean
  /** Whether no gateway has found the device, so that nothing can check it. */
  hasNoGateway: boolean
}

/** `AssetStatus` answers what matters first: does the device respond, is its firmware current, is it unique, what depends on it. */
export function AssetStatus({ asset, ...scan }: ReachabilityProps) {
  const text = useText(statusMessages)
  return (
    <section className="asset-status" aria-label={text.status}>
      <Reachability asset={asset} {...scan} />
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

/**
 * `Reachability` shows the last evidence that a device responds: its time and its source. The device counts as reachable only if
 * monitoring, a scan or the gateway itself confirmed it recently. An import or an API client is not such a confirmation.
 */
function Reachability({ asset, isFoundByScan, hasNoGateway }: ReachabilityProps) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const language = useLanguage()
  const evidence = useEvidence(asset)
  const canMonitor = usePermission('glb_jobs_read')
  const state = textAt(asset, 'reachability_state/state_value')
  const time = textAt(asset, 'reachability_state/state_timestamp')
  if (state === 'failed' || state === 'unreachable')
    return (
      <Tile title={text.reachability} value={stateName('reachability_state', 'failed', language)} tone="bad">
        {time !== '' && text.since(formats.dateTime(time))}
        {hasNoGateway && <NoGateway />}
      </Tile>
    )
  if (state !== 'reached' || time === '' || evidence?.isCheck === false)
    return (
      <Tile title={text.reachability} value={text.notChecked}>
        {hasNoGateway ? (
          <NoGateway />
        ) : canMonitor && isFoundByScan ? (
          <Link to="/monitoring">{text.toMonitoring}</Link>
        ) : (
          text.notCheckedHint
        )}
      </Tile>
    )
  const isReachable = evidence !== undefined && hasRecentEvidence(asset)
  return (
    <Tile
      title={text.reachability}
      value={isReachable ? text.reachable : text.lastSeen(formats.relative(time))}
      {...(isReachable && { tone: 'good' })}
    >
      {evidence?.isCheck === true && text.sourceAt(evidence.source, formats.dateTime(time))}
    </Tile>
  )
}

/** `NoGateway` states why the user cannot connect to the device. The button that finds a gateway refers to it. */
function NoGateway() {
  const text = useText(statusMessages)
  return (
    <span id={noGatewayId} className="status-reason">
      {text.noGateway}
    </span>
  )
}

/** The source of the last evidence, if it checked the device. It is undefined until it is loaded. */
type Evidence = { isCheck: true; source: string } | { isCheck: false }

function useEvidence(asset: Asset): Evidence | undefined {
  const text = useText(statusMessages)
  const query = useOperationQuery()
  const results = useAvailability(asset.id).data?.data.results
  const origin = useQuery(query(['inbox', 'readInboxAsset'], { params: { id: asset.id } })).data?.data
  if (results === undefined) return undefined
  if (results.length > 0) return { isCheck: true, source: text.byMonitoring }
  if (origin === undefined) return undefined
  const { scan, gateway, source } = origin
  if (scan !== undefined || gateway !== undefined) return { isCheck: true, source: text.byScan }
  const isOfPlatform = textAt(asset, 'functional_object_type') !== 'Device' && source?.type !== 'discovery'
  return isOfPlatform ? { isCheck: true, source: text.byGateway } : { isCheck: false }
}

/**
 * `OperatingMode` is hidden for devices without an operating mode. Without a recent check of the device, the mode is the last known
 * value, which is shown with its age. The tile also states if no gateway has read it.
 */
function OperatingMode({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const evidence = useEvidence(asset)
  const history = useLatestHistory(asset.id)
  const mode = textAt(asset, modeField)
  if (mode === '' || mode === 'not_supported') return null
  const tone = modeTone(mode)
  const reportedAt = textAt(asset, 'reachability_state/state_timestamp')
  const isReached = textAt(asset, 'reachability_state/state_value') === 'reached'
  const isLive = isReached && evidence?.isCheck === true && hasRecentEvidence(asset)
  const change = modeChange(mode, history.data?.data ?? [])
  const isSet = evidence?.isCheck === false || (change !== undefined && isSetByClient(change))
  const at = (isSet ? change?.time : undefined) ?? reportedAt
  const isOld = !isLive && evidence !== undefined && !history.isPending && at !== ''
  const before = isSet ? text.modeSet : text.modeBefore
  return (
    <Tile
      title={text.mode}
      value={
        isOld ? <span title={formats.exact(at)}>{before(modeName(mode), formats.relative(at))}</span> : modeName(mode)
      }
      tone={tone}
    >
      {isOld && (
        <span title={change === undefined || !isSet ? text.notLiveHint : text.setBy(authorName(change.principalName))}>
          {isSet ? text.setByClient : text.notLive}
        </span>
      )}
      {tone !== 'good' && (
        <>
          {!isOld && !history.isPending && <ModeSince change={change} />}
          <TabLink tab="history" isAfterText>
            {text.showHistory}
          </TabLink>
        </>
      )}
    </Tile>
  )
}

/** `ModeSince` shows since when the device reports its operating mode. */
function ModeSince({ change }: { change: ReturnType<typeof modeChange> }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  if (change === undefined) return text.notRunning
  return (change.change === 'created' ? text.modeSinceFirst : text.modeSince)(formats.compact(change.time))
}

function Firmware({ asset }: { asset: Asset }) {
  const text = useText(statusMessages)
  const query = useOperationQuery()
  const live = { live: ['updates', ...assetEvents] }
  const updates = useQuery(query(['updates', 'readAssetUpdates'], { params: { id: asset.id } }, live)).data?.data
  const newest = updates?.artefacts.find(({ outcome }) => outcome === 'update')
  const version = updates?.version ?? firmwareOf(asset)
  const newestKnown = useNewestVersion()(asset)
  const canUpdate = updates?.canUpdate === true
  const isOlder = version !== '' && newestKnown !== undefined && newestKnown !== version
  return (
    <Tile
      title={text.firmware}
      value={isOlder ? text.outdated(version) : version || text.unknownVersion}
      {...((newest || isOlder) && { tone: 'warning' })}
    >
      {newest !== undefined ? (
        <TabLink tab="updates">{text.updateTo(newest.version)}</TabLink>
      ) : isOlder ? (
        <OlderFirmware asset={asset} newest={newestKnown} canUpdate={canUpdate} />
      ) : newestKnown !== undefined && version !== '' ? (
        text.newest
      ) : (
        updates !== undefined && (updates.artefacts.length === 0 ? text.noArtefacts : text.noUpdate)
      )}
    </Tile>
  )
}

type OlderFirmwareProps = { asset: Asset; newest: string; canUpdate: boolean }

/**
 * `OlderFirmware` names the newest version that devices of this product have. It starts an update campaign for the asset, if an
 * asset link can update the device.
 */
function OlderFirmware({ asset, newest, canUpdate }: OlderFirmwareProps) {
  const text = useText(statusMessages)
  const mayUpdate = usePermission('glb_update_manage')
  return (
    <>
      {text.older(newest)}
      {!canUpdate && (
        <TabLink tab="updates" isAfterText>
          {text.whyNoUpdate}
        </TabLink>
      )}
      {mayUpdate && canUpdate && (
        <>
          {' · '}
          <Link
            to="/updates/campaigns/new"
            search={{ assets: 'selected' } as never}
            onClick={() => setSelectedAssets(new Set([asset.id]))}
          >
            {text.planUpdate}
          </Link>
        </>
      )}
    </>
  )
}

/** The maximum number of possible duplicates that are counted. An asset without possible duplicates has no tile. */
const maxDuplicates = 100

function Duplicates({ assetId }: { assetId: string }) {
  const text = useText(statusMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const input = { query: { asset: assetId, limit: maxDuplicates } }
  const pairs = useQuery(query(['inventory', 'listDuplicates'], input, { live: assetEvents })).data?.data
  const count = pairs?.length ?? 0
  if (count === 0) return null
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
    <Tile title={text.dependents} value={impact.truncated ? text.atLeast(shown) : shown}>
      <TabLink tab="impact">{text.showImpact}</TabLink>
    </Tile>
  )
}

type TabLinkProps = { tab: string; isAfterText?: boolean; children: ReactNode }

/** `TabLink` opens a tab of the asset. It is hidden on this tab. */
function TabLink({ tab, isAfterText = false, children }: TabLinkProps) {
  const [search] = useSearchState<'tab'>()
  if (search.tab === tab) return null
  return (
    <>
      {isAfterText && ' · '}
      <Link to="." search={{ tab } as never}>
        {children}
      </Link>
    </>
  )
}
