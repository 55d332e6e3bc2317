import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useText } from '../../app/language/language-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { Time } from '../../components/values/time.tsx'
import { type Asset, nameOf, textAt } from '../assets/model/asset.ts'
import { GatewayState } from '../discovery/state-chips.tsx'
import { startMessages } from './messages.ts'
import { useGatewayStates, useJobs } from './plant-queries.ts'

const maxShown = 6

/** `ChangedCard` lists recently changed assets. */
export function ChangedCard() {
  const text = useText(startMessages)
  const query = useOperationQuery()
  const sort = '-last_modified_timestamp'
  const changed = useQuery(
    query(
      ['inventory', 'listAssets'],
      { query: { sort, limit: maxShown, count: false, fields: 'id,name,connection_points,last_modified_timestamp' } },
      { live: ['inventory.asset'] },
    ),
  )
  return (
    <Card
      title={text.changed}
      actions={
        <Link to="/assets" search={{ sort } as never}>
          {text.allChanged}
        </Link>
      }
    >
      <QueryState query={changed}>
        {({ data }) => (
          <ul className="start-list">
            {(data as Asset[]).map((asset) => (
              <li key={asset.id}>
                <Link className="plain-link" to={`/assets/${asset.id}`}>
                  {nameOf(asset)}
                </Link>
                <span className="quiet">
                  <Time at={textAt(asset, 'last_modified_timestamp')} isRelative />
                </span>
              </li>
            ))}
            {data.length === 0 && <li className="quiet">{text.nothingChanged}</li>}
          </ul>
        )}
      </QueryState>
    </Card>
  )
}

export function JobsCard() {
  const text = useText(startMessages)
  const running = useJobs('running')
  return (
    <Card title={text.jobs} actions={<Link to="/jobs">{text.allJobs}</Link>}>
      <QueryState query={running}>
        {({ data }) => (
          <ul className="start-list">
            {data.map((job) => (
              <li key={job.id}>
                <Link className="plain-link" to={`/jobs/${job.id}`}>
                  {job.type}
                </Link>
                <Progress value={job.progress} label={text.progressOf(job.type)} />
                {job.message !== undefined && <span className="start-detail">{job.message}</span>}
              </li>
            ))}
            {data.length === 0 && <li className="quiet">{text.noJobs}</li>}
          </ul>
        )}
      </QueryState>
    </Card>
  )
}

/** The display order of gateways by state. Gateways that need attention come first. */
const order = ['offline', 'config_expired', 'created', 'online', 'revoked'] as const

export function GatewaysCard() {
  const text = useText(startMessages)
  const gateways = useGatewayStates()
  return (
    <Card title={text.gateways} actions={<Link to="/discovery">{text.allGateways}</Link>}>
      <QueryState query={gateways}>
        {({ data }) => (
          <ul className="start-list">
            {data
              .toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
              .slice(0, maxShown)
              .map(({ id, name, state, lastSeenTimestamp }) => (
                <li key={id}>
                  <Link className="plain-link" to={`/discovery/gateways/${id}`}>
                    {name}
                  </Link>
                  <GatewayState state={state} />
                  {state === 'offline' && (
                    <span className="start-detail">
                      {text.lastSeen} <Time at={lastSeenTimestamp} isRelative />
                    </span>
                  )}
                </li>
              ))}
            {data.length === 0 && <li className="quiet">{text.noGateways}</li>}
          </ul>
        )}
      </QueryState>
    </Card>
  )
}
