import { inboxFilter } from '@millwright/api/inbox-filter.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { usePermission } from '../../app/session/app-context.tsx'
import { startMessages } from './messages.ts'
import { useGatewayStates, useJobs, useTotalQuery } from './plant-queries.ts'

/** `PlantFigures` shows the main figures of the plant. Each figure links to the page with the details. */
export function PlantFigures() {
  const text = useText(startMessages)
  const formats = useFormats()
  const canReadJobs = usePermission('glb_jobs_read')
  const canOpenInbox = usePermission('inventory_read_asset_data')
  const all = useQuery(useTotalQuery())
  const newAssets = useQuery(useTotalQuery(inboxFilter({})))
  const total = (answer: typeof all) => {
    const count = answer.data?.meta.totalElements
    return count === undefined ? '–' : formats.number(count)
  }
  return (
    <ul className="start-figures">
      <Tile to="/assets" name={text.assets}>
        {total(all)}
      </Tile>
      {canOpenInbox && (
        <Tile to="/inbox" name={text.toReview}>
          {total(newAssets)}
        </Tile>
      )}
      {canReadJobs && <WorkFigures />}
    </ul>
  )
}

function WorkFigures() {
  const text = useText(startMessages)
  const formats = useFormats()
  const gateways = useGatewayStates().data?.data
  const running = useJobs('running').data?.meta.totalElements
  const online = gateways?.filter(({ state }) => state === 'online').length ?? 0
  return (
    <>
      <Tile to="/discovery" name={text.gatewaysOnline}>
        {gateways === undefined ? '–' : text.of(formats.number(online), formats.number(gateways.length))}
      </Tile>
      <Tile to="/jobs" name={text.runningJobs}>
        {running === undefined ? '–' : formats.number(running)}
      </Tile>
    </>
  )
}

function Tile({ to, name, children }: { to: string; name: string; children: ReactNode }) {
  return (
    <li>
      <Link to={to} className="start-figure">
        <span className="start-figure-name">{name}</span>
        <span className="start-figure-value">{children}</span>
      </Link>
    </li>
  )
}
