import type { Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { keyOf } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useApi, useMay } from '../../../app/session/user-context.tsx'
import { Dialog } from '../../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { toldDone } from '../../../components/feedback/toast.ts'
import { Form } from '../../../components/forms/form.tsx'
import { Card } from '../../../components/page/card.tsx'
import { Facts } from '../../../components/values/property-list.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { discoveryMessages } from '../messages.ts'
import { atOnce, cronOf, ownZone, type Timing, timingOf } from './schedule.ts'
import { TimingFields } from './schedule-fields.tsx'

type Changes = { paused?: boolean; schedule?: { cron: string; timezone: string } | null }

/** When a discovery runs by itself. */
export function ScheduleCard({ scan }: { scan: Discovery }) {
  const text = useText(discoveryMessages)
  const api = useApi()
  const queryClient = useQueryClient()
  const mayRun = useMay('glb_discovery_run')
  const [isChanging, setChanging] = useState(false)
  const [failure, setFailure] = useState<unknown>()
  const change = async (changes: Changes) => {
    await api.discovery.updateDiscovery({ params: { jobId: scan.jobId }, body: { data: changes } })
    await queryClient.invalidateQueries({ queryKey: keyOf('discovery') })
    toldDone(text.saved)
  }
  const { schedule } = scan
  const turn = () => {
    setFailure(undefined)
    change({ paused: !schedule?.paused }).catch(setFailure)
  }
  return (
    <Card
      title={text.schedule}
      actions={
        mayRun && (
          <>
            {schedule !== undefined && (
              <IxButton variant="secondary" onClick={turn}>
                {schedule.paused ? text.resume : text.pause}
              </IxButton>
            )}
            <IxButton variant="secondary" onClick={() => setChanging(true)}>
              {text.change}
            </IxButton>
          </>
        )
      }
    >
      {failure !== undefined && <ProblemMessage failure={failure} />}
      {schedule === undefined ? <p className="quiet">{text.noSchedule}</p> : <ScheduleFacts schedule={schedule} />}
      {isChanging && (
        <ScheduleDialog
          schedule={schedule}
          onSave={(given) => change({ schedule: given })}
          onClose={() => setChanging(false)}
        />
      )}
    </Card>
  )
}

function ScheduleFacts({ schedule }: { schedule: NonNullable<Discovery['schedule']> }) {
  const text = useText(discoveryMessages)
  const { cron, timezone, paused, nextRuns, missedRuns } = schedule
  return (
    <Facts
      facts={[
        paused && { name: text.state, value: <StatusChip tone="warning">{text.paused}</StatusChip> },
        { name: text.schedule, value: <code>{`${cron} (${timezone})`}</code> },
        !paused && {
          name: text.next,
          value: (
            <ul className="plain-list">
              {nextRuns.map((at) => (
                <li key={at}>
                  <Time at={at} />
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

type DialogGiven = {
  schedule: Discovery['schedule']
  onSave: (schedule: { cron: string; timezone: string } | null) => Promise<unknown>
  onClose: () => void
}

function ScheduleDialog({ schedule, onSave, onClose }: DialogGiven) {
  const text = useText(discoveryMessages)
  const [timing, setTiming] = useState<Timing>(() =>
    schedule === undefined ? { ...atOnce, kind: 'daily' } : timingOf(schedule.cron),
  )
  const [isTold, setTold] = useState(false)
  const zone = schedule?.timezone ?? ownZone()
  const cron = cronOf(timing)
  const save = (given: { cron: string; timezone: string } | null) => onSave(given).then(onClose)
  const submit = () => {
    setTold(true)
    return cron === undefined ? false : save({ cron, timezone: zone })
  }
  return (
    <Dialog title={text.schedule} onClose={onClose}>
      <Form
        action={text.save}
        onSubmit={submit}
        others={
          schedule !== undefined && (
            <IxButton variant="secondary" onClick={() => save(null)}>
              {text.remove}
            </IxButton>
          )
        }
      >
        <TimingFields timing={timing} onChange={setTiming} zone={zone} isTold={isTold} isPlan />
      </Form>
    </Dialog>
  )
}
