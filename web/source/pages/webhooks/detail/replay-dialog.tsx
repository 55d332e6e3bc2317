import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useApi, usePermission } from '../../../app/session/app-context.tsx'
import { ConfirmDialog } from '../../../components/dialogs/confirm-dialog.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { showSuccess } from '../../../components/feedback/toast.ts'
import { TextField } from '../../../components/forms/fields.tsx'
import { TimestampField } from '../../../components/forms/timestamp-field.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { kindOf, type Subscription } from '../subscription.ts'
import { operationsOf, useRefreshSubscriptions } from '../subscription-data.ts'
import { detailMessages } from './messages.ts'
import { positionAt, type StoredRange } from './replay-position.ts'

const starts = ['oldest', 'time', 'position'] as const
type Start = (typeof starts)[number]

type ReplayDialogProps = { subscription: Subscription; onClose: () => void }

/** `ReplayDialog` sends events again: all stored events, or the events from a time or a position on. */
export function ReplayDialog({ subscription, onClose }: ReplayDialogProps) {
  const text = useText(detailMessages)
  const formats = useFormats()
  const api = useApi()
  const refresh = useRefreshSubscriptions()
  // The positions and times of stored events are part of the audit trail.
  const canReadEvents = usePermission('glb_audit_read')
  const range = useStoredRange(canReadEvents, subscription.newestPosition)
  const [start, setStart] = useState<Start>(canReadEvents ? 'oldest' : 'position')
  const [time, setTime] = useState<string>()
  const [typed, setTyped] = useState('')
  const found = usePositionAt(start === 'time' ? time : undefined, range)
  const first = { oldest: range?.oldest, time: found.data ?? undefined, position: positionOf(typed) }[start]
  const newest = range?.newest ?? subscription.newestPosition
  const isTooOld = first !== undefined && range !== undefined && first < range.oldest
  const isTooNew = first !== undefined && first > newest
  const count = first === undefined || isTooOld || isTooNew ? undefined : newest - first + 1
  const replay = async () => {
    if (first === undefined) return false
    const body = { data: { fromPosition: first } }
    await operationsOf(api, kindOf(subscription)).replay({ params: { id: subscription.id }, body })
    showSuccess(text.replayStarted)
    await refresh()
    return true
  }
  return (
    <ConfirmDialog
      title={text.replayTitle}
      action={text.replay}
      isDisabled={count === undefined}
      onConfirm={replay}
      onClose={onClose}
    >
      <p className="card-lead">{text.replayText}</p>
      {canReadEvents && (
        <ViewSwitch
          label={text.replayStart}
          choices={starts.map((value) => ({ value, label: text[value] }))}
          chosen={start}
          onChoose={setStart}
        />
      )}
      {start === 'time' && <TimestampField label={text.replayTime} value={time} onChange={setTime} />}
      {start === 'position' && (
        <TextField
          label={text.position}
          hint={
            range === undefined
              ? text.positionHint(formats.number(newest))
              : text.positionRange(formats.number(range.oldest), formats.number(newest))
          }
          type="number"
          value={typed}
          onChange={setTyped}
        />
      )}
      <div className="replay-count" role="status">
        {count !== undefined && (
          <p>
            <strong>{text.eventCount(count, formats.number(count))}</strong>{' '}
            {text.replayCountText(formats.number(first ?? 0), formats.number(newest))}
          </p>
        )}
        {isTooOld && <p className="field-error">{text.tooOld}</p>}
        {(isTooNew || (start === 'time' && found.data === null)) && <p className="field-error">{text.tooNew}</p>}
      </div>
      {found.error !== null && <ProblemMessage failure={found.error} />}
    </ConfirmDialog>
  )
}

function positionOf(typed: string): number | undefined {
  const position = Number(typed)
  return /^\d+$/.test(typed.trim()) && Number.isSafeInteger(position) && position > 0 ? position : undefined
}

/** Returns the positions of the oldest and the newest stored event, or undefined without the permission. */
function useStoredRange(canReadEvents: boolean, newestPosition: number): StoredRange | undefined {
  const query = useOperationQuery()
  const { data } = useQuery({
    ...query(['events', 'listEvents'], { query: { limit: 1 } }),
    enabled: canReadEvents,
    staleTime: 0,
  })
  if (data === undefined || data.meta.oldestPosition === null) return undefined
  return { oldest: data.meta.oldestPosition, newest: Math.max(newestPosition, data.meta.newestPosition) }
}

/** Returns the position of the first event at or after a time: null if there is none. */
function usePositionAt(time: string | undefined, range: StoredRange | undefined) {
  const api = useApi()
  return useQuery<number | null>({
    queryKey: ['replay-position', time],
    enabled: time !== undefined && range !== undefined,
    queryFn: async () => {
      if (time === undefined || range === undefined) return null
      const firstFrom = async (position: number) => {
        const { data } = await api.events.listEvents({ query: { after: position - 1, limit: 1 } })
        return data[0] && { position: Number(data[0].sequence), time: data[0].time }
      }
      return (await positionAt(time, range, firstFrom)) ?? null
    },
  })
}
