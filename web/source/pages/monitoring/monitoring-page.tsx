import type { Monitoring } from '@millwright/api/monitoring.ts'
import { iconMonitoring } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
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
import { RowLink } from '../../components/tables/row-link.tsx'
import { Time } from '../../components/values/time.tsx'
import { useScheduleText } from '../discovery/scans/schedule-text.ts'
import { CoverageFigures } from './coverage.tsx'
import { NewMonitoringDialog } from './form/monitoring-dialog.tsx'
import { emptyForm, type MonitoringForm } from './form/monitoring-form.ts'
import { useTargetCount } from './form/target-count.tsx'
import { monitoringMessages } from './messages.ts'
import { monitoringEvents, pollMs } from './monitoring-data.ts'
import { MonitoringState } from './monitoring-state.tsx'

/** `MonitoringPage` lists the monitoring tasks of the tenant with their schedules and last results. */
export function MonitoringPage() {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const scheduleText = useScheduleText()
  const canRun = usePermission('glb_discovery_run')
  const [isAdding, setAdding] = useCreateDialog()
  const [preset, setPreset] = useState<MonitoringForm>()
  const pagedList = usePagedList(
    ['monitoring', 'listMonitorings'],
    {},
    { live: monitoringEvents, refetchIntervalMs: pollMs },
  )
  usePageTitle(text.title)
  const hasUnchecked = pagedList.rows.some(({ summary }) => summary.unknown > 0)
  const create = canRun && <IxButton onClick={() => setAdding(true)}>{text.create}</IxButton>
  return (
    <>
      <PageHeader title={text.title} subtitle={text.subtitle} actions={pagedList.total > 0 && create} />
      {pagedList.total > 0 && (
        <>
          <CoverageFigures onMonitor={setPreset} />
          <div className="card-head">
            <h2>{text.tasks}</h2>
          </div>
          <p className="quiet section-note">
            {text.countedOnce} {text.changedNote} {hasUnchecked && text.uncheckedNote}
          </p>
        </>
      )}
      <PagedTable
        label={text.title}
        pagedList={pagedList}
        isRoomy
        columns={columnsOf(text, formats, scheduleText).filter(({ id }) => id !== 'unknown' || hasUnchecked)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/monitoring/${id}` })}
        empty={<NoMonitorings onPreset={setPreset} onCreate={() => setAdding(true)} />}
      />
      {canRun && isAdding && <NewMonitoringDialog onClose={() => setAdding(false)} />}
      {canRun && preset !== undefined && <NewMonitoringDialog preset={preset} onClose={() => setPreset(undefined)} />}
    </>
  )
}

/** The interval of the task that the empty page offers. */
const presetMinutes = 5

type NoMonitoringsProps = { onPreset: (preset: MonitoringForm) => void; onCreate: () => void }

/** `NoMonitorings` shows how many devices can be checked now, and offers a task for them. */
function NoMonitorings({ onPreset, onCreate }: NoMonitoringsProps) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  const canRun = usePermission('glb_discovery_run')
  const { filter } = emptyForm()
  const { matching = 0, checkable = 0 } = useTargetCount({ filter, links: [] }).data?.data ?? {}
  const unscanned = matching - checkable
  const openPreset = () => {
    const form = emptyForm()
    onPreset({ ...form, name: text.presetName, schedule: { ...form.schedule, minutes: presetMinutes } })
  }
  const hasDevices = checkable > 0
  const title = matching === 0 ? text.none : text.ready(formats.number(checkable), formats.number(matching))
  const scan = canRun && (
    <Link to="/discovery" search={{ scan: 'any' } as never} className={`button-link ${hasDevices ? 'secondary' : ''}`}>
      {text.toDiscovery}
    </Link>
  )
  return (
    <EmptyState icon={iconMonitoring} title={title} isAtStart>
      {unscanned > 0 && (
        <p>
          {text.unscanned(unscanned, formats.number(unscanned))}{' '}
          <Link to="/assets" search={{ filter } as never}>
            {text.toAssets}
          </Link>
        </p>
      )}
      <p className="quiet">
        {matching > 0 && `${text.none}. `}
        {text.meaning} {text.first}
      </p>
      <div className="notice-actions">
        {canRun && hasDevices && (
          <IxButton onClick={openPreset}>{text.preset(checkable, formats.number(checkable), presetMinutes)}</IxButton>
        )}
        {scan}
        {canRun && (
          <IxButton variant="secondary" onClick={onCreate}>
            {text.create}
          </IxButton>
        )}
      </div>
    </EmptyState>
  )
}

/** `Unreachable` links the number of unreachable devices of a task to their results. */
function Unreachable({ id, count }: { id: string; count: number }) {
  const formats = useFormats()
  if (count === 0) return formats.number(count)
  return (
    <Link to={`/monitoring/${id}`} search={{ results: 'failed' } as never} className="bad-count">
      {formats.number(count)}
    </Link>
  )
}

/** `Changed` links the number of changed devices of a task to their results. */
function Changed({ id, count }: { id: string; count: number }) {
  const formats = useFormats()
  if (count === 0) return formats.number(count)
  return (
    <Link to={`/monitoring/${id}`} search={{ results: 'changed' } as never}>
      {formats.number(count)}
    </Link>
  )
}

const dayMs = 86_400_000

type ScheduleProps = { schedule: Monitoring['schedule']; scheduleText: (cron: string) => string }

function Schedule({ schedule, scheduleText }: ScheduleProps) {
  const text = useText(monitoringMessages)
  const formats = useFormats()
  if (schedule === undefined) return <span className="quiet">{text.noSchedule}</span>
  const [next] = schedule.paused ? [] : schedule.nextRuns
  return (
    <span className="grid-lines">
      {scheduleText(schedule.cron)}
      {next !== undefined && (
        <>
          <br />
          <span className="quiet">
            {text.next} {Date.parse(next) - Date.now() < dayMs ? formats.shortTime(next) : <Time at={next} isCompact />}
          </span>
        </>
      )}
    </span>
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
    {
      id: 'name',
      header: text.name,
      width: 200,
      minWidth: 150,
      cell: ({ id, name }) => <RowLink to={`/monitoring/${id}`}>{name}</RowLink>,
    },
    { id: 'state', header: text.state, width: 110, cell: (row) => <MonitoringState monitoring={row} /> },
    count('targets', text.targets, 86),
    count('reached', text.reached, 105),
    {
      ...count('failed', text.unreachable, 120),
      cell: ({ id, summary: { failed } }) => <Unreachable id={id} count={failed} />,
    },
    count('unknown', text.unknown, 118),
    {
      ...count('changed', text.changed, 95),
      hint: text.changedHint,
      cell: ({ id, summary: { changed } }) => <Changed id={id} count={changed} />,
    },
    {
      id: 'last',
      header: text.lastRun,
      width: 110,
      cell: ({ latestRun }) => (
        <span className={latestRun?.trigger === 'person' ? 'grid-lines' : undefined}>
          <Time at={latestRun?.endedTimestamp ?? latestRun?.createdTimestamp} isRelative isShort />
          {latestRun?.trigger === 'person' && (
            <>
              <br />
              <span className="quiet">{text.byPerson}</span>
            </>
          )}
        </span>
      ),
    },
    {
      id: 'schedule',
      header: text.schedule,
      width: 160,
      isGrowing: true,
      cell: ({ schedule }) => <Schedule schedule={schedule} scheduleText={scheduleText} />,
    },
  ]
}
