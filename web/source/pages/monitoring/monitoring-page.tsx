import type { Monitoring } from '@millwright/api/monitoring.ts'
import { iconMonitoring } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { usePagedList } from '../../app/api/paged-list.ts'
import type { Formats } from '../../app/language/formats.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { useCreateDialog } from '../../app/navigation/create-dialog-state.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import type { Column } from '../../components/tables/data-table.tsx'
import { PagedTable } from '../../components/tables/paged-table.tsx'
import { Time } from '../../components/values/time.tsx'
import { useScheduleText } from '../discovery/scans/schedule-text.ts'
import { NewMonitoringDialog } from './form/monitoring-dialog.tsx'
import { monitoringMessages } from './messages.ts'
import { monitoringEvents, pollMs } from './monitoring-data.ts'
import { MonitoringState } from './monitoring-state.tsx'

/** `MonitoringPage` lists the monitorings of the tenant with their schedules and last results. */
export function MonitoringPage() {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const scheduleText = useScheduleText()
  const canRun = usePermission('glb_discovery_run')
  const [isAdding, setAdding] = useCreateDialog()
  const pagedList = usePagedList(
    ['monitoring', 'listMonitorings'],
    {},
    { live: monitoringEvents, refetchIntervalMs: pollMs },
  )
  usePageTitle(text.title)
  const create = canRun && <IxButton onClick={() => setAdding(true)}>{text.create}</IxButton>
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} actions={pagedList.total > 0 && create} />
      <PagedTable
        label={text.title}
        pagedList={pagedList}
        columns={columnsOf(text, formats, scheduleText)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/monitoring/${id}` })}
        empty={
          <EmptyState icon={iconMonitoring} title={text.none}>
            <p>{text.meaning}</p>
            <p className="quiet">
              {text.first} <Link to="/discovery">{text.toDiscovery}</Link>
            </p>
            {create}
          </EmptyState>
        }
      />
      {canRun && isAdding && <NewMonitoringDialog onClose={() => setAdding(false)} />}
    </>
  )
}

type Text = (typeof monitoringMessages)['en']
type Count = keyof Monitoring['summary']

function columnsOf(text: Text, formats: Formats, scheduleText: (cron: string) => string): Column<Monitoring>[] {
  const count = (name: Count, header: string, width: number): Column<Monitoring> => ({
    id: name,
    header,
    width,
    isNumber: true,
    cell: ({ summary }) => formats.number(summary[name]),
  })
  return [
    { id: 'name', header: text.name, width: 213, cell: ({ name }) => <span title={name}>{name}</span> },
    { id: 'state', header: text.state, width: 130, cell: (row) => <MonitoringState monitoring={row} /> },
    count('failed', text.unreachable, 162),
    count('reached', text.reached, 112),
    count('unknown', text.unknown, 112),
    count('changed', text.changed, 103),
    {
      id: 'last',
      header: text.lastRun,
      width: 150,
      cell: ({ latestRun }) => <Time at={latestRun?.endedTimestamp ?? latestRun?.createdTimestamp} isRelative />,
    },
    {
      id: 'schedule',
      header: text.schedule,
      width: 142,
      cell: ({ schedule }) => schedule !== undefined && scheduleText(schedule.cron),
    },
  ]
}
