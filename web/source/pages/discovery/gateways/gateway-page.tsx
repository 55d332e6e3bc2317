import type { AssetLink } from '@millwright/api/discovery.ts'
import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { gatewayStateIntervalMs } from '../../../app/api/gateways.ts'
import { keyOf, useOperationQuery } from '../../../app/api/queries.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { withoutStatusCode } from '../../../app/language/link-message.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { CopyButton } from '../../../components/actions/copy-button.tsx'
import { ConfirmButton } from '../../../components/dialogs/confirm-button.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { QueryState } from '../../../components/feedback/query-state.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Card } from '../../../components/page/card.tsx'
import { PageHeader } from '../../../components/page/page-header.tsx'
import { usePageTitle } from '../../../components/page/page-title.ts'
import { ParentLink } from '../../../components/page/parent-link.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { PrincipalGrants } from '../../access/grants/principal-grants.tsx'
import { GatewayAccessCard } from '../../remote-access/settings/switches.tsx'
import { builtInDescription, builtInName } from '../built-in-links.ts'
import { discoveryMessages } from '../messages.ts'
import { IdentityConflicts } from '../scans/identity-conflicts.tsx'
import { keyFor, ScanDialog } from '../scans/scan-dialog.tsx'
import { ScanTable } from '../scans/scan-table.tsx'
import { GatewayState, LinkState } from '../state-chips.tsx'
import { ConfigFile } from './config-file.tsx'
import { FoundAssets } from './found-assets.tsx'
import { isReady, nameOf, useLinksOf } from './gateway-links.ts'
import { gatewayMessages } from './gateway-messages.ts'
import { ManagedLinksCard } from './managed-links-card.tsx'

/** `GatewayPage` shows the state, the asset links and the scans of one gateway. */
export function GatewayPage() {
  const text = useText(gatewayMessages)
  const { id = '' } = useParams({ strict: false })
  const query = useOperationQuery()
  const gateway = useQuery({
    ...query(['onboarding', 'getGateway'], { params: { id } }, { live: ['onboarding.gateway'] }),
    refetchInterval: gatewayStateIntervalMs,
  })
  const scans = useText(discoveryMessages)
  usePageTitle(gateway.data?.data.name ?? scans.gateway)
  return (
    <>
      <PageHeader
        title={gateway.data?.data.name ?? scans.gateway}
        above={<ParentLink to="/discovery">{text.all}</ParentLink>}
        actions={gateway.data !== undefined && <ScanButton gatewayId={id} />}
      />
      <QueryState query={gateway}>
        {({ data }) => (
          <div className="cards cards-two">
            <div className="card-column">
              <Card title={scans.gateway}>
                <GatewayDetails gateway={data} />
              </Card>
              <GatewayAccessCard gatewayId={id} name={data.name} />
              <ManageCard gateway={data} />
              <Links gatewayId={id} />
            </div>
            <ManagedLinksCard gateway={data} />
            <GatewayGrants gateway={data} />
            <IdentityConflicts gatewayId={id} />
            <Card title={scans.scans} size="wide">
              <ScanTable gatewayId={id} />
            </Card>
          </div>
        )}
      </QueryState>
    </>
  )
}

/**
 * `GatewayGrants` shows the roles of a gateway. It is shown only for enrolled gateways, because other gateways cannot
 * have roles.
 */
function GatewayGrants({ gateway: { id, name, state } }: { gateway: OnboardedGateway }) {
  const text = useText(gatewayMessages)
  const canManage = usePermission('glb_access_manage')
  if (!canManage || (state !== 'online' && state !== 'offline')) return null
  return <PrincipalGrants principal={{ id, name }} detail={text.grantsDetail} suggestedRole="operator" />
}

const minuteMs = 60_000

/** Returns whether a gateway was enrolled in the minute in which it was created, so that both times look the same. */
function isEnrolledAtOnce({ enrolledTimestamp, createdTimestamp }: OnboardedGateway): boolean {
  const minuteOf = (time: string) => Math.floor(Date.parse(time) / minuteMs)
  return enrolledTimestamp != null && minuteOf(enrolledTimestamp) - minuteOf(createdTimestamp) <= 1
}

function GatewayDetails({ gateway }: { gateway: OnboardedGateway }) {
  const text = useText(gatewayMessages)
  const scans = useText(discoveryMessages)
  return (
    <KeyValueList
      items={[
        { name: scans.state, value: <GatewayState state={gateway.state} /> },
        { name: scans.lastSeen, value: <Time at={gateway.lastSeenTimestamp} isRelative /> },
        { name: scans.assetsFound, value: <FoundAssets gatewayId={gateway.id} /> },
        { name: text.hostName, value: gateway.host?.hostName },
        { name: text.addresses, value: gateway.host?.addresses.join(', ') },
        { name: text.operatingSystem, value: gateway.host?.operatingSystem },
        { name: scans.version, value: gateway.version },
        { name: text.enrolled, value: <Time at={gateway.enrolledTimestamp} /> },
        !isEnrolledAtOnce(gateway) && { name: text.created, value: <Time at={gateway.createdTimestamp} /> },
        {
          name: text.key,
          value: gateway.keyThumbprint && (
            <span className="with-copy thumbprint">
              <code title={gateway.keyThumbprint}>{gateway.keyThumbprint}</code>
              <CopyButton value={gateway.keyThumbprint} label={text.key} />
            </span>
          ),
        },
        {
          name: scans.scans,
          value: (
            <Link to="/jobs" search={{ type: 'discovery', gateway: gateway.id } as never}>
              {text.showScans}
            </Link>
          ),
        },
        { name: text.asset, value: <Link to={`/assets/${gateway.id}`}>{text.showAsset}</Link> },
      ]}
    />
  )
}

/** `ScanButton` opens the scan dialog with the first link of the gateway that can start a scan. */
function ScanButton({ gatewayId }: { gatewayId: string }) {
  const scans = useText(discoveryMessages)
  const canRun = usePermission('glb_discovery_run')
  const ready = useLinksOf(gatewayId).data?.data.find(isReady)
  const [isOpen, setOpen] = useState(false)
  if (!canRun || ready === undefined) return null
  return (
    <>
      <IxButton onClick={() => setOpen(true)}>{scans.startScan}</IxButton>
      {isOpen && <ScanDialog chosen={keyFor({ gatewayId, link: ready })} onClose={() => setOpen(false)} />}
    </>
  )
}

/** `ManageCard` contains the administrative actions of a gateway, each with its effect. */
function ManageCard({ gateway: { id, name, state } }: { gateway: OnboardedGateway }) {
  const text = useText(gatewayMessages)
  const api = useApi()
  const navigate = useNavigate()
  const queryClient = useQueryClient()
  const canManage = usePermission('glb_gateway_manage')
  const [isMaking, setMaking] = useState(false)
  if (!canManage) return null
  const revoke = async () => {
    await api.onboarding.revokeGateway({ params: { id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('onboarding') })
    showSuccess(text.revoked)
  }
  const remove = async () => {
    await api.onboarding.deleteGateway({ params: { id } })
    await queryClient.invalidateQueries({ queryKey: keyOf('onboarding') })
    showSuccess(text.removed)
    navigate({ to: '/discovery' })
  }
  return (
    <Card title={text.manage}>
      <ul className="explained-actions">
        {state !== 'revoked' && (
          <>
            <li>
              <span className="quiet">{text.newFileEffect}</span>
              <IxButton variant="secondary" onClick={() => setMaking(true)}>
                {text.newFile}
              </IxButton>
            </li>
            <li>
              <span className="quiet">{text.revokeEffect}</span>
              <ConfirmButton action={text.revoke} title={text.revokeTitle(name)} onConfirm={revoke}>
                {text.revokeDetail}
              </ConfirmButton>
            </li>
          </>
        )}
        <li>
          <span className="quiet">{text.removeEffect}</span>
          <ConfirmButton action={text.remove} title={text.removeTitle(name)} onConfirm={remove}>
            {text.removeDetail}
          </ConfirmButton>
        </li>
      </ul>
      {isMaking && (
        <Dialog title={text.newFileTitle} onClose={() => setMaking(false)}>
          <p>{text.newFileDetail}</p>
          <ConfigFile gatewayId={id} />
        </Dialog>
      )}
    </Card>
  )
}

function Links({ gatewayId }: { gatewayId: string }) {
  const scans = useText(discoveryMessages)
  const links = useLinksOf(gatewayId)
  const canRun = usePermission('glb_discovery_run')
  const [scanned, setScanned] = useState<AssetLink>()
  return (
    <QueryState query={links}>
      {({ data }) => (
        <>
          {data.length === 0 && (
            <Card title={scans.links}>
              <p className="quiet">{scans.noLinks}</p>
            </Card>
          )}
          {data.map((link) => (
            <Card
              key={link.assetLinkId}
              title={nameOf(link)}
              actions={canRun && isReady(link) && <IxButton onClick={() => setScanned(link)}>{scans.scan}</IxButton>}
            >
              <LinkDetails link={link} />
            </Card>
          ))}
          {scanned !== undefined && (
            <ScanDialog chosen={keyFor({ gatewayId, link: scanned })} onClose={() => setScanned(undefined)} />
          )}
        </>
      )}
    </QueryState>
  )
}

function LinkDetails({ link }: { link: AssetLink }) {
  const text = useText(gatewayMessages)
  const scans = useText(discoveryMessages)
  const { product, problem, incompatibility } = link
  const description = builtInDescription(builtInName(link.assetLinkId), useLanguage()) ?? product?.description
  return (
    <>
      {description !== undefined && <p className="quiet card-lead">{description}</p>}
      <KeyValueList
        items={[
          { name: scans.state, value: <LinkState link={link} /> },
          { name: scans.problem, value: withoutStatusCode(problem ?? incompatibility ?? '') },
          { name: scans.version, value: link.version },
          { name: scans.vendor, value: product?.vendor },
          { name: text.traffic, value: link.budgeted ? text.budgeted : text.notBudgeted },
          { name: scans.endpoint, value: <code>{link.endpoint}</code> },
          { name: scans.interfaces, value: [...new Set(link.interfaces.map(interfaceName))].join(', ') },
          { name: scans.filters, value: link.filters.map(({ key }) => key).join(', ') },
          { name: scans.options, value: link.options.map(({ key }) => key).join(', ') },
          { name: text.events, value: link.events.length === 0 ? undefined : <LinkEvents link={link} /> },
          { name: text.documentation, value: product?.documentation },
          { name: 'ID', value: <code>{link.assetLinkId}</code> },
        ]}
      />
    </>
  )
}

const shownEvents = 5

/** `LinkEvents` lists the latest alarms and driver events of an asset link, newest first. */
function LinkEvents({ link: { events } }: { link: AssetLink }) {
  return events
    .slice(-shownEvents)
    .toReversed()
    .map(({ timestamp, text }) => (
      <div key={`${timestamp} ${text}`}>
        <Time at={timestamp} isRelative /> {text}
      </div>
    ))
}

/** Returns the short name of an interface. Example: `discover` for `siemens.industrialassethub.discover.v1`. */
function interfaceName(name: string): string {
  return /([^.]+)\.v\d\w*$/.exec(name)?.[1] ?? name
}
