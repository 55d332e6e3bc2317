import { iconLock, iconSearch } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useAppContext, useRights } from '../../app/session/app-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { GatewaysCard, JobsCard } from './activity-cards.tsx'
import { DigestCard } from './digest-card.tsx'
import { DriftCard } from './drift-card.tsx'
import { FacetCard, StatesCard } from './facet-cards.tsx'
import { FirstSteps } from './first-steps.tsx'
import { startMessages } from './messages.ts'
import { NextCard } from './next-card.tsx'
import { PlantFigures } from './plant-figures.tsx'
import { useTotalQuery } from './plant-queries.ts'
import { SignInNotice } from './sign-in-notice.tsx'
import { SubscriptionNotice } from './subscription-notice.tsx'
import './start.css'

/** The name of the tenant that every installation has. It is not shown, because most installations have no other tenant. */
const defaultTenant = 'default'

/**
 * `StartPage` shows the figures of the plant, next steps, changes since the last visit and firmware versions. For an empty
 * plant, it shows the first steps instead.
 */
export function StartPage() {
  const text = useText(startMessages)
  const rights = useRights()
  const { user } = useAppContext()
  usePageTitle(text.title)
  // The figures are also shown to a credential manager, who can read only gateways and asset links.
  const canReadAssets = rights.has('inventory_read_asset_data') || rights.has('glb_inventory_read_gateway_data')
  const canReadJobs = rights.has('glb_jobs_read')
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={user.tenant_name === defaultTenant ? text.subtitle : text.tenant(user.tenant_name)}
      />
      <SubscriptionNotice />
      {canReadAssets ? (
        <Plant canReadJobs={canReadJobs} />
      ) : canReadJobs ? (
        <>
          <div className="start-cards">
            <JobsCard />
            <GatewaysCard />
          </div>
          <SignInNotice />
        </>
      ) : (
        <>
          <SignInNotice />
          <EmptyState icon={iconLock} title={text.noAccess}>
            <p>{text.noAccessHint}</p>
          </EmptyState>
        </>
      )}
    </>
  )
}

/** The filter that selects devices. Gateways and asset links are assets too, but they do not count as devices. */
const devices = "functional_object_type eq 'Device'"

function Plant({ canReadJobs }: { canReadJobs: boolean }) {
  const text = useText(startMessages)
  const deviceTotal = useQuery(useTotalQuery(devices))
  const rights = useRights()
  const canDiscover = rights.has('glb_discovery_run')
  const canImport = rights.has('glb_file_import')
  const canReadDevices = rights.has('inventory_read_asset_data')
  // Stays true after the first scan has found devices, so that the guide does not disappear before its last step.
  const [wasEmpty, setWasEmpty] = useState(false)
  const isEmpty = deviceTotal.data?.meta.totalElements === 0
  if (isEmpty && !wasEmpty) setWasEmpty(true)
  return (
    <QueryState query={deviceTotal}>
      {() =>
        wasEmpty && canDiscover && canReadJobs ? (
          <>
            <SignInNotice />
            <FirstSteps />
          </>
        ) : isEmpty && canReadDevices ? (
          <>
            <SignInNotice />
            <EmptyState icon={iconSearch} title={text.noDevices}>
              <p>{text.noDevicesHint}</p>
              {canImport && (
                <Link to="/files/import" className="button-link">
                  {text.importFile}
                </Link>
              )}
            </EmptyState>
          </>
        ) : (
          <>
            <PlantFigures />
            <div className="start-main">
              <div>
                <NextCard />
                {/* The problems of the plant come first. */}
                <SignInNotice />
                {canReadJobs && <JobsCard />}
                {canReadJobs && <GatewaysCard />}
              </div>
              <div>
                <DigestCard />
                {canReadDevices && <DriftCard />}
              </div>
            </div>
            <div className="start-cards">
              <StatesCard />
              <FacetCard
                title={text.manufacturers}
                by="product_instance_information/manufacturer_product/manufacturer/name"
              />
              <FacetCard title={text.groups} by="access_group" />
              <FacetCard title={text.types} by="functional_object_type" />
            </div>
          </>
        )
      }
    </QueryState>
  )
}
