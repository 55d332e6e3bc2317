import type { CloudEvent } from '@millwright/api/events.ts'
import { iconNotifications } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useEffect, useEffectEvent, useState } from 'react'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { eventTypePrefix } from '../../app/live/live-events.ts'
import { useLiveEvents } from '../../app/live/live-queries.ts'
import { useSearchState } from '../../app/navigation/search-state.ts'
import { useApi, usePermission } from '../../app/session/app-context.tsx'
import { Dialog } from '../../components/dialogs/dialog.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { TextField } from '../../components/forms/fields.tsx'
import { EmptyState } from '../../components/page/empty-state.tsx'
import { PageHeader } from '../../components/page/page-header.tsx'
import { usePageTitle } from '../../components/page/page-title.ts'
import { type Column, DataTable } from '../../components/tables/data-table.tsx'
import { Toolbar } from '../../components/tables/toolbar.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { SubjectLink } from '../../components/values/subject-link.tsx'
import { Time } from '../../components/values/time.tsx'
import { addEvents, hasPrefix, noEvents, resumeList } from './event-list.ts'
import { eventMessages } from './messages.ts'

const pageEvents = 100
const pagesPerRequest = 10

/** `EventsPage` lists events as they arrive. */
export function EventsPage() {
  const text = useText(eventMessages)
  const formats = useFormats()
  const [search, setSearch] = useSearchState<'type'>()
  const [list, setList] = useState(noEvents)
  const [isPaused, setPaused] = useState(false)
  const [open, setOpen] = useState<CloudEvent>()
  usePageTitle(text.title)
  useLiveEvents(['*'], (event) => setList((before) => addEvents(before, [event], { isPaused })))
  const shown = list.shown.filter(({ type }) => hasPrefix(shortened(type), search.type ?? ''))
  const resume = () => {
    setPaused(false)
    setList(resumeList)
  }
  return (
    <>
      <PageHeader
        title={text.title}
        subtitle={text.subtitle}
        actions={
          <>
            <IxButton variant="secondary" onClick={() => setList(noEvents)}>
              {text.clear}
            </IxButton>
            <IxButton variant="secondary" onClick={isPaused ? resume : () => setPaused(true)}>
              {isPaused ? text.resume : text.pause}
            </IxButton>
          </>
        }
      />
      <Toolbar
        count={
          isPaused
            ? text.paused(formats.number(list.waiting.length))
            : text.count(shown.length, formats.number(shown.length))
        }
      >
        <TextField
          label={text.typeFilter}
          isLabelUnseen
          type="search"
          placeholder={text.typePlaceholder}
          value={search.type ?? ''}
          onChange={(type) => setSearch({ type })}
        />
        <EarlierEvents
          oldest={list.shown.at(-1)?.sequence}
          onFound={(events) => setList((before) => addEvents(before, events, { isPaused: false }))}
        />
      </Toolbar>
      <DataTable
        label={text.title}
        columns={columnsOf(text)}
        rows={shown}
        idOf={({ id }) => id}
        onOpen={setOpen}
        isTall
        empty={
          <EmptyState icon={iconNotifications} title={search.type === undefined ? text.none : text.noMatches}>
            <p>{search.type === undefined ? text.noneHint : text.noMatchesHint}</p>
          </EmptyState>
        }
      />
      {open !== undefined && <EventDialog event={open} onClose={() => setOpen(undefined)} />}
    </>
  )
}

type EarlierEventsProps = { oldest: string | undefined; onFound: (events: CloudEvent[]) => void }

/**
 * `EarlierEvents` loads events that occurred before the oldest event in the list. The user needs permission to read the
 * audit trail.
 */
function EarlierEvents({ oldest, onFound }: EarlierEventsProps) {
  const text = useText(eventMessages)
  const api = useApi()
  const canRead = usePermission('glb_audit_read')
  const [failure, setFailure] = useState<unknown>()
  const load = async (pages: number) => {
    try {
      setFailure(undefined)
      const { meta } = await api.events.listEvents({ query: { limit: 1 } })
      const end = oldest === undefined ? meta.newestPosition : Number(oldest) - 1
      const first = Math.max(0, end - pageEvents * pages, (meta.oldestPosition ?? 1) - 1)
      for (let after = first; after < end; after += pageEvents) {
        onFound((await api.events.listEvents({ query: { after, limit: Math.min(pageEvents, end - after) } })).data)
      }
    } catch (error) {
      setFailure(error)
    }
  }
  // Recent events are loaded when the page opens, so that the list is not empty at first.
  const loadFirst = useEffectEvent(() => {
    if (canRead) load(1)
  })
  useEffect(() => loadFirst(), [])
  if (!canRead) return null
  const loadMore = () => load(pagesPerRequest)
  return (
    <>
      <IxButton variant="tertiary" onClick={loadMore}>
        {text.loadEarlier}
      </IxButton>
      {failure !== undefined && <ProblemMessage failure={failure} onRetry={loadMore} />}
    </>
  )
}

function EventDialog({ event, onClose }: { event: CloudEvent; onClose: () => void }) {
  const text = useText(eventMessages)
  return (
    <Dialog title={shortened(event.type)} onClose={onClose} isWide>
      <KeyValueList
        items={[
          { name: text.subject, value: <SubjectLink subject={event.subject} /> },
          { name: text.time, value: <Time at={event.time} isExact /> },
          { name: text.source, value: event.source },
          { name: text.position, value: Number(event.sequence) },
          { name: 'ID', value: <code>{event.id}</code> },
          { name: text.data, value: <JsonView value={event.data} /> },
        ]}
      />
    </Dialog>
  )
}

type Text = (typeof eventMessages)['en']

function columnsOf(text: Text): Column<CloudEvent>[] {
  return [
    { id: 'time', header: text.time, width: 200, cell: ({ time }) => <Time at={time} isExact /> },
    { id: 'type', header: text.type, width: 300, cell: ({ type }) => shortened(type) },
    { id: 'subject', header: text.subject, width: 400, cell: ({ subject }) => <SubjectLink subject={subject} /> },
    { id: 'position', header: text.position, width: 110, isNumber: true, cell: ({ sequence }) => Number(sequence) },
  ]
}

function shortened(type: string): string {
  return type.startsWith(eventTypePrefix) ? type.slice(eventTypePrefix.length) : type
}
