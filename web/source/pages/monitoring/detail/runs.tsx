import type { Monitoring, MonitoringRun } from '@millwright/api/monitoring.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { monitoringMessages } from '../messages.ts'
import { isRunning, monitoringEvents, pollMs } from '../monitoring-data.ts'
import { RunState } from '../monitoring-state.tsx'
import { detailMessages } from './messages.ts'

/** `Runs` lists the runs of a monitoring, newest first. */
export function Runs({ monitoring }: { monitoring: Monitoring }) {
  const text = useText(detailMessages)
  const shared = useText(monitoringMessages)
  const formats = useFormats()
  const pagedList = usePagedList(
    ['monitoring', 'listMonitoringRuns'],
    { params: { id: monitoring.id } },
    { live: monitoringEvents, ...(isRunning(monitoring) && { refetchIntervalMs: pollMs }) },
  )
  return (
    <section className="monitoring-section" aria-labelledby="monitoring-runs">
      <div className="card-head">
        <h2 id="monitoring-runs">{text.runs}</h2>
      </div>
      {pagedList.error !== null ? (
        <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
      ) : pagedList.isLoading ? (
        <Loading />
      ) : (
        <DataTable
          label={text.runs}
          columns={columnsOf(shared, text, formats)}
          rows={pagedList.rows}
          idOf={({ id }) => id}
          onEnd={pagedList.next}
          empty={<p className="quiet">{text.noRuns}</p>}
        />
      )}
    </section>
  )
}

type Counts = NonNullable<MonitoringRun['counts']>

function columnsOf(
  shared: (typeof monitoringMessages)['en'],
  text: (typeof detailMessages)['en'],
  formats: Formats,
): Column<MonitoringRun>[] {
  const count = (name: keyof Counts, header: string, width: number): Column<MonitoringRun> => ({
    id: name,
    header,
    width,
    isNumber: true,
    cell: ({ counts }) => counts && formats.number(counts[name]),
  })
  return [
    { id: 'number', header: text.run, width: 70, isNumber: true, cell: ({ number }) => formats.number(number) },
    {
      id: 'started',
      header: text.started,
      width: 190,
      cell: (run) => <Time at={run.startedTimestamp ?? run.createdTimestamp} isExact />,
    },
    { id: 'state', header: shared.state, width: 225, cell: (run) => <RunState run={run} /> },
    count('targets', shared.targets, 90),
    count('failed', shared.unreachable, 162),
    count('reached', shared.reached, 112),
    count('unknown', shared.unknown, 112),
    count('changed', shared.changed, 103),
    {
      id: 'duration',
      header: text.duration,
      width: 110,
      cell: ({ startedTimestamp: started, endedTimestamp: ended }) =>
        started !== undefined && ended !== undefined && formats.duration(Date.parse(ended) - Date.parse(started)),
    },
    {
      id: 'trigger',
      header: text.trigger,
      width: 130,
      cell: ({ trigger }) => (trigger === 'person' ? text.userTrigger : text.scheduleTrigger),
    },
    {
      id: 'message',
      header: text.message,
      width: 320,
      cell: ({ message }) =>
        message !== undefined && (
          <span lang="en" title={message}>
            {message}
          </span>
        ),
    },
  ]
}
