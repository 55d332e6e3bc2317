import type { Monitoring, MonitoringRun } from '@millwright/api/monitoring.ts'
import { Link } from '@tanstack/react-router'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Progress } from '../../../components/feedback/progress.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyFigures } from '../../../components/values/key-figures.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { Time } from '../../../components/values/time.tsx'
import { monitoringMessages } from '../messages.ts'
import { isRunning } from '../monitoring-data.ts'
import { RunState } from '../monitoring-state.tsx'
import { detailMessages } from './messages.ts'

/** `RunCard` shows the latest run of a monitoring, and the current numbers of devices by state. */
export function RunCard({ monitoring }: { monitoring: Monitoring }) {
  const text = useText(monitoringMessages)
  const details = useText(detailMessages)
  const formats = useFormats()
  const { latestRun: run, summary } = monitoring
  return (
    <Card title={text.lastRun}>
      {run === undefined ? <p className="quiet">{details.noRuns}</p> : <RunDetails run={run} />}
      <KeyFigures
        figures={[
          { name: text.unreachable, value: formats.number(summary.failed) },
          { name: text.reached, value: formats.number(summary.reached) },
          { name: text.unknown, value: formats.number(summary.unknown) },
          { name: text.changed, value: formats.number(summary.changed) },
        ]}
      />
    </Card>
  )
}

function RunDetails({ run }: { run: MonitoringRun }) {
  const text = useText(monitoringMessages)
  const details = useText(detailMessages)
  const formats = useFormats()
  const { progress, message, trigger, startedTimestamp, endedTimestamp, jobIds } = run
  return (
    <>
      {isRunning({ latestRun: run }) && <Progress value={progress || undefined} label={text.progress} />}
      <KeyValueList
        items={[
          { name: text.state, value: <RunState run={run} /> },
          { name: details.message, value: message && <span lang="en">{message}</span> },
          { name: details.trigger, value: trigger === 'person' ? details.userTrigger : details.scheduleTrigger },
          { name: details.started, value: <Time at={startedTimestamp ?? run.createdTimestamp} isExact /> },
          startedTimestamp !== undefined &&
            endedTimestamp !== undefined && {
              name: details.duration,
              value: formats.duration(Date.parse(endedTimestamp) - Date.parse(startedTimestamp)),
            },
          jobIds.length > 0 && { name: details.jobs, value: <JobLinks jobIds={jobIds} /> },
        ]}
      />
    </>
  )
}

/** `JobLinks` links to the jobs of a run. There is one job for each gateway. */
function JobLinks({ jobIds }: { jobIds: readonly string[] }) {
  const text = useText(detailMessages)
  const formats = useFormats()
  return (
    <span className="chips">
      {jobIds.map((jobId, index) => (
        <Link key={jobId} to={`/jobs/${jobId}`}>
          {jobIds.length === 1 ? text.job : text.jobNumber(formats.number(index + 1))}
        </Link>
      ))}
    </span>
  )
}
