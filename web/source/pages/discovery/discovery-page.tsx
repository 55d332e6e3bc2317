import type { OnboardedGateway } from '@millwright/api/onboarding.ts'
import { iconNetworkDevice } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { gatewayStateIntervalMs, useGateways } from '../../app/api/gateways.ts'
import { useText } from '../../app/language/language-context.tsx'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { PlainTable } from '../../components/tables/plain-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { FoundAssets } from './gateways/found-assets.tsx'
import { isReady, nameOf, useLinksOf } from './gateways/gateway-links.ts'
import { OnboardDialog } from './gateways/onboard-dialog.tsx'
import { discoveryMessages } from './messages.ts'
import { keyFor, ScanDialog } from './scans/scan-dialog.tsx'
import { ScanTable } from './scans/scan-table.tsx'
import { GatewayState, LinkState } from './state-chips.tsx'

/**
 * `DiscoveryPage` lists the scans, and the gateways with their asset links. Pages open the scan dialog with the search
 * parameter `scan`.
 */
export function DiscoveryPage() {
  const text = useText(discoveryMessages)
  const [search, setSearch] = useSearchState<'scan' | 'onboard'>()
  const canRun = usePermission('glb_discovery_run')
  const canManage = usePermission('glb_gateway_manage')
  const gateways = useGateways({ refetchIntervalMs: gatewayStateIntervalMs })
  usePageTitle(text.title)
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={
          <>
            {canManage && (
              <IxButton variant="secondary" onClick={() => setSearch({ onboard: 'yes' })}>
                {text.addGateway}
              </IxButton>
            )}
            {canRun && <IxButton onClick={() => setSearch({ scan: 'any' })}>{text.startScan}</IxButton>}
          </>
        }
      />
      <h2 className="section-title">{text.gateways}</h2>
      <QueryState query={gateways}>
        {({ data }) =>
          data.length === 0 ? (
            <EmptyState icon={iconNetworkDevice} title={text.noGateway}>
              <p>{text.noGatewayHint}</p>
              {canManage && <IxButton onClick={() => setSearch({ onboard: 'yes' })}>{text.addGateway}</IxButton>}
            </EmptyState>
          ) : (
            <div className="gateway-table">
              <PlainTable
                columns={[text.gateway, text.state, text.links, text.assetsFound, text.version, text.lastSeen]}
                isWide
              >
                {data.map((gateway) => (
                  <GatewayRow key={gateway.id} gateway={gateway} />
                ))}
              </PlainTable>
            </div>
          )
        }
      </QueryState>
      <h2 className="section-title">{text.scans}</h2>
      <ScanTable />
      {canRun && search.scan !== undefined && (
        <ScanDialog chosen={search.scan} onClose={() => setSearch({ scan: undefined })} />
      )}
      {canManage && search.onboard !== undefined && <OnboardDialog onClose={() => setSearch({ onboard: undefined })} />}
    </>
  )
}

const maxShown = 5

/** `GatewayRow` shows one gateway with its asset links. */
function GatewayRow({ gateway }: { gateway: OnboardedGateway }) {
  return (
    <tr>
      <td>
        <Link to={`/discovery/gateways/${gateway.id}`}>{gateway.name}</Link>
      </td>
      <td>
        <GatewayState state={gateway.state} />
      </td>
      <td>
        <GatewayLinks gateway={gateway} />
      </td>
      <td>
        <FoundAssets gatewayId={gateway.id} />
      </td>
      <td>{gateway.version}</td>
      <td>
        <Time at={gateway.lastSeenTimestamp} isRelative />
      </td>
    </tr>
  )
}

/** `GatewayLinks` lists the asset links of a gateway, and starts a scan with one that is ready. */
function GatewayLinks({ gateway }: { gateway: OnboardedGateway }) {
  const text = useText(discoveryMessages)
  const links = useLinksOf(gateway.id)
  const canRun = usePermission('glb_discovery_run')
  const [, setSearch] = useSearchState<'scan'>()
  const [isOpen, setOpen] = useState(false)
  return (
    <QueryState query={links}>
      {({ data }) =>
        data.length === 0 ? (
          <p className="quiet">{text.noLinks}</p>
        ) : (
          <ul className="link-lines">
            {data.slice(0, isOpen ? undefined : maxShown).map((link) => (
              <li key={link.assetLinkId}>
                <span className="link-name">
                  {nameOf(link)} <span className="quiet">{link.version}</span>
                </span>
                <LinkState link={link} />
                {canRun && gateway.state === 'online' && isReady(link) && (
                  <button
                    type="button"
                    className="link-button"
                    aria-label={text.scanLinkOf(nameOf(link))}
                    onClick={() => setSearch({ scan: keyFor({ gatewayId: gateway.id, link }) })}
                  >
                    {text.scanLink}
                  </button>
                )}
              </li>
            ))}
            {data.length > maxShown && !isOpen && (
              <li>
                <button type="button" className="link-button" onClick={() => setOpen(true)}>
                  {text.moreLinks(data.length - maxShown)}
                </button>
              </li>
            )}
          </ul>
        )
      }
    </QueryState>
  )
}
