import type { Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { KeyValueList } from '../../../components/values/key-value-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { discoveryMessages } from '../messages.ts'
import { editSchedule } from './edit-settings.ts'
import { browserTimeZone, cronOf, runNow, type ScheduleChoice, scheduleChoiceOf } from './schedule.ts'
import { ScheduleFields } from './schedule-fields.tsx'
import { useScheduleText } from './schedule-text.ts'
import { ZonedTime } from './zoned-time.tsx'

type Changes = { paused?: boolean; schedule?: { cron: string; timezone: string } | null }

/** `ScheduleCard` shows and edits the schedule of a scan. */
export function ScheduleCard({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const canRun = usePermission('glb_discovery_run')
  const [{ edit }, setSearch] = useSearchState<'edit'>()
  const [failure, setFailure] = useState<unknown>()
  const change = async (changes: Changes) => {
    await api.discovery.updateDiscovery({ params: { jobId: scan.jobId }, body: { data: changes } })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    showSuccess(text.saved)
  }
  const { schedule } = scan
  const togglePaused = () => {
    setFailure(undefined)
    change({ paused: !schedule?.paused }).catch(setFailure)
  }
  return (
    <Card
      title={text.schedule}
      actions={
        canRun && (
          <>
            {schedule !== undefined && (
              <IxButton variant="secondary" onClick={togglePaused}>
                {schedule.paused ? text.resume : text.pause}
              </IxButton>
            )}
            <IxButton variant="secondary" onClick={() => setSearch({ edit: editSchedule })}>
              {text.edit}
            </IxButton>
          </>
        )
      }
    >
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {schedule === undefined ? <p className="quiet">{text.noSchedule}</p> : <ScheduleDetails schedule={schedule} />}
      {canRun && edit === editSchedule && (
        <ScheduleDialog
          schedule={schedule}
          onSave={(changed) => change({ schedule: changed })}
          onClose={() => setSearch({ edit: undefined })}
        />
      )}
    </Card>
  )
}

/** The number of future runs on the page. */
const shownRuns = 3

function ScheduleDetails({ schedule }: { schedule: NonNullable<Discovery['schedule']> }) {
  const text = useText(discoveryMessages)
  const scheduleText = useScheduleText()
  const { cron, timezone, paused, nextRuns, missedRuns } = schedule
  return (
    <KeyValueList
      items={[
        paused && { name: text.state, value: <StatusChip tone="warning">{text.paused}</StatusChip> },
        { name: text.repeated, value: <span title={cron}>{scheduleText(cron)}</span> },
        { name: text.timeZone, value: timezone },
        !paused && {
          name: text.nextScheduled,
          value: (
            <ul className="plain-list">
              {nextRuns.slice(0, shownRuns).map((at) => (
                <li key={at}>
                  <ZonedTime at={at} zone={timezone} isShort />
                </li>
              ))}
            </ul>
          ),
        },
        missedRuns > 0 && { name: '', value: text.missed(missedRuns) },
      ]}
    />
  )
}

type ScheduleDialogProps = {
  schedule: Discovery['schedule']
  onSave: (schedule: { cron: string; timezone: string } | null) => Promise<unknown>
  onClose: () => void
}

function ScheduleDialog({ schedule, onSave, onClose }: ScheduleDialogProps) {
  const text = useText(discoveryMessages)
  const [choice, setChoice] = useState<ScheduleChoice>(() =>
    schedule === undefined ? { ...runNow, kind: 'daily' } : scheduleChoiceOf(schedule.cron),
  )
  const [isSubmitted, setSubmitted] = useState(false)
  const zone = schedule?.timezone ?? browserTimeZone()
  const cron = cronOf(choice)
  const save = (changed: { cron: string; timezone: string } | null) => onSave(changed).then(onClose)
  const submit = () => {
    setSubmitted(true)
    return cron === undefined ? false : save({ cron, timezone: zone })
  }
  return (
    <Dialog title={text.schedule} onClose={onClose}>
      <Form
        action={text.save}
        onSubmit={submit}
        extraActions={
          schedule !== undefined && (
            <IxButton variant="secondary" onClick={() => save(null)}>
              {text.remove}
            </IxButton>
          )
        }
      >
        <ScheduleFields schedule={choice} onChange={setChoice} zone={zone} isSubmitted={isSubmitted} isRecurring />
      </Form>
    </Dialog>
  )
}
