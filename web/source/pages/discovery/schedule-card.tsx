import type { Discovery } from '@millwright/api/discovery.ts'
import { IxButton } from '@siemens/ix-react'
import { useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { useText } from '../../app/language-context.tsx'
import { keyOf } from '../../app/queries.ts'
import { useApi, useMay } from '../../app/visit.tsx'
import { Card } from '../../components/card.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Facts } from '../../components/facts.tsx'
import { Form } from '../../components/form.tsx'
import { ProblemMessage } from '../../components/problem-message.tsx'
import { StatusChip } from '../../components/status-chip.tsx'
import { Time } from '../../components/time.tsx'
import { toldDone } from '../../components/toast.ts'
import { discoveryMessages } from './messages.ts'
import { atOnce, cronOf, ownZone, type Timing, timingOf } from './timing.ts'
import { TimingFields } from './timing-fields.tsx'

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
