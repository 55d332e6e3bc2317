import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { Progress } from '../../components/feedback/progress.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { Time } from '../../components/values/time.tsx'
import { GatewayState } from '../discovery/state-chips.tsx'
import { subjectNameOf } from '../jobs/job-name.ts'
import { jobMessages } from '../jobs/messages.ts'
import { workflowName, workflowNames } from '../workflows/workflow-names.ts'
import { startMessages } from './messages.ts'
import { useGatewayStates, useJobs } from './plant-queries.ts'

const maxShown = 6

/** `JobsCard` lists the running jobs. It is hidden while no job runs, because the figures contain the number. */
export function JobsCard() {
  const text = useText(startMessages)
  const names = useText(workflowNames)
  const jobText = useText(jobMessages)
  const running = useJobs('running')
  if (running.data?.data.length === 0) return null
  return (
    <Card title={text.jobs} actions={<Link to="/jobs">{text.allJobs}</Link>}>
      <QueryState query={running}>
        {({ data }) => (
          <ul className="start-list">
            {data.map((job) => {
              const parts = [workflowName(job.type, names), subjectNameOf(job, jobText)]
              const name = parts.filter((part) => part !== undefined).join(' · ')
              return (
                <li key={job.id}>
                  <Link to={`/jobs/${job.id}`}>{name}</Link>
                  <Progress value={job.progress} label={text.progressOf(name)} />
                </li>
              )
            })}
          </ul>
        )}
      </QueryState>
    </Card>
  )
}

/** The display order of gateways by state. Gateways that need attention come first. */
const order = ['offline', 'config_expired', 'created', 'online', 'revoked'] as const

/** What to do about a gateway that is not online. */
const hints = { offline: 'hintOffline', config_expired: 'hintExpired', created: 'hintCreated' } as const

/** `GatewaysCard` lists gateways, those with problems first, each with its problem and what to do. */
export function GatewaysCard() {
  const text = useText(startMessages)
  const formats = useFormats()
  const gateways = useGatewayStates()
  return (
    <Card title={text.gateways} actions={<Link to="/discovery">{text.allGateways}</Link>}>
      <QueryState query={gateways}>
        {({ data }) => {
          if (data.length === 0) return <p className="quiet">{text.noGateways}</p>
          const problems = data.filter(({ state }) => state === 'offline' || state === 'config_expired').length
          return (
            <>
              {problems > 0 && (
                <p className="start-problem">{text.gatewayProblems(formats.number(problems), data.length)}</p>
              )}
              <ul className="start-list">
                {data
                  .toSorted((one, other) => order.indexOf(one.state) - order.indexOf(other.state))
                  .slice(0, maxShown)
                  .map(({ id, name, state, lastSeenTimestamp }) => (
                    <li key={id}>
                      <Link to={`/discovery/gateways/${id}`}>{name}</Link>
                      <GatewayState state={state} />
                      {state !== 'online' && state !== 'revoked' && (
                        <span className="start-detail">
                          {state === 'offline' && lastSeenTimestamp !== undefined && (
                            <>
                              {text.lastSeen} <Time at={lastSeenTimestamp} isRelative />.{' '}
                            </>
                          )}
                          {text[hints[state]]}
                        </span>
                      )}
                    </li>
                  ))}
              </ul>
            </>
          )
        }}
      </QueryState>
    </Card>
  )
}
