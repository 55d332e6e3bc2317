import { iconLock } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../../app/language/language-context.tsx'
import { useRights, useVisit } from '../../app/session/user-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { ChangedCard, GatewaysCard, JobsCard } from './activity-cards.tsx'
import { FacetCard, StatesCard } from './facet-cards.tsx'
import { FirstSteps } from './first-steps.tsx'
import { startMessages } from './messages.ts'
import { NextCard } from './next-card.tsx'
import { useTotalQuery } from './plant.ts'
import { PlantFigures } from './plant-figures.tsx'
import './start.css'

/** What is there, what changed, what runs, and what to do next; for an empty plant the way to the first assets. */
export function StartPage() {
  const text = useText(startMessages)
  const rights = useRights()
  const { person } = useVisit()
  usePageTitle(text.title)
  const mayReadAssets = rights.may('inventory_read_asset_data')
  const mayReadJobs = rights.may('glb_jobs_read')
  return (
    <>
      <PageHeader title={text.title} subtitle={text.tenant(person.tenant_name)} />
      {mayReadAssets ? (
        <Plant mayReadJobs={mayReadJobs} />
      ) : mayReadJobs ? (
        <div className="start-cards">
          <JobsCard />
          <GatewaysCard />
        </div>
      ) : (
        <EmptyState icon={iconLock} title={text.nothingForYou}>
          <p>{text.nothingForYouText}</p>
        </EmptyState>
      )}
    </>
  )
}

/** Gateways and links are assets too: a plant with devices has more than those. */
const devices = "functional_object_type eq 'Device'"

function Plant({ mayReadJobs }: { mayReadJobs: boolean }) {
  const text = useText(startMessages)
  const found = useQuery(useTotalQuery(devices))
  const mayDiscover = useRights().may('glb_discovery_run')
  // Who began with an empty plant goes the whole way, also when the first devices are there.
  const [wasEmpty, setWasEmpty] = useState(false)
  const isEmpty = found.data?.meta.totalElements === 0
  if (isEmpty && !wasEmpty) setWasEmpty(true)
  return (
    <QueryState query={found}>
      {() =>
        wasEmpty && mayDiscover && mayReadJobs ? (
          <FirstSteps />
        ) : (
          <>
            <PlantFigures />
            <div className="start-cards">
              <NextCard />
              {mayReadJobs && <JobsCard />}
              {mayReadJobs && <GatewaysCard />}
              <ChangedCard />
              <FacetCard title={text.types} by="functional_object_type" />
              <FacetCard
                title={text.manufacturers}
                by="product_instance_information/manufacturer_product/manufacturer/name"
              />
              <StatesCard />
              <FacetCard title={text.firmware} by="firmware_version" filter={devices} />
              <FacetCard title={text.groups} by="access_group" />
            </div>
          </>
        )
      }
    </QueryState>
  )
}
