import type { ActivityEntry } from '@millwright/api/activity.ts'
import {
  iconAddCircle,
  iconChevronDownSmall,
  iconChevronRightSmall,
  iconCloudUpload,
  iconConnectionFail,
  iconConnectionSuccess,
  iconImport,
  iconInfo,
  iconLock,
  iconLogIn,
  iconMonitoring,
  iconPen,
  iconSearch,
  iconTrashcan,
  iconUser,
  iconWarning,
} from '@siemens/ix-icons/icons'
import { IxIconButton } from '@siemens/ix-react'
import { Link } from '@tanstack/react-router'
import { type MouseEvent, useId, useState } from 'react'
import { useFormats, useLanguage, useText } from '../../app/language/language-context.tsx'
import { locationOf } from '../../app/navigation/subject-location.ts'
import { usePermission } from '../../app/session/app-context.tsx'
import { Loading } from '../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../components/feedback/problem-message.tsx'
import { Icon } from '../../components/values/icon.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { type ActivityFilters, useGroupEntries } from './activity-data.ts'
import { dayOf, daysOf, type EntryRow, isAssignment, outageOf, outageSince, outageStart, rowsOf } from './entry-rows.ts'
import { activityMessages } from './messages.ts'
import { combinedDetail, groupDetail, rowSentence, sentenceOf, statesNumber } from './sentence.ts'
import { type SentenceContext, type SentencePart, sentenceText } from './sentence-part.ts'
import { spanText } from './time-range.ts'

type ListProps = {
  filters: ActivityFilters
  times: { from: string; to?: string }
  openId: string | undefined
  onOpen: (id: string) => void
}

export function useSentenceContext(): SentenceContext {
  const text = useText(activityMessages)
  const language = useLanguage()
  const { number, duration } = useFormats()
  return { text, language, number, duration }
}

type Entries = { entries: readonly ActivityEntry[]; hasMore: boolean }

/** `ActivityList` shows entries as sentences, with a heading for each day. */
export function ActivityList({ entries, hasMore, ...list }: ListProps & Entries) {
  return daysOf(rowsOf(entries, { hasMore })).map(({ day, rows }) => (
    <section key={day} className="activity-day" aria-labelledby={`day-${day}`}>
      <h2 id={`day-${day}`}>
        <DayName day={day} />
      </h2>
      <ul className="activity-rows">
        {rows.map((row) => (
          <Row key={row.entry.id} row={row} {...list} />
        ))}
      </ul>
    </section>
  ))
}

const dayMs = 86_400_000

function DayName({ day }: { day: string }) {
  const text = useText(activityMessages)
  const formats = useFormats()
  const now = Date.now()
  const shown = formats.day(`${day}T12:00:00`)
  if (day === dayOf(new Date(now).toISOString())) return `${text.today}, ${shown}`
  if (day === dayOf(new Date(now - dayMs).toISOString())) return `${text.yesterday}, ${shown}`
  return shown
}

type RowProps = ListProps & { row: EntryRow }

function Row({ row, ...list }: RowProps) {
  const { entry, others, isOpen, begin } = row
  const context = useSentenceContext()
  const { text } = context
  const formats = useFormats()
  const [isExpanded, setExpanded] = useState(false)
  const membersId = useId()
  const start = begin && outageStart(row)
  const parts = rowSentence({ entry, others, start }, context)
  const isGroup = entry.group !== undefined && others.length === 0
  const count = entry.group?.count ?? others.length + 1
  const isCombined = others.length > 0 && entry.group === undefined
  const oldest = others.at(-1)?.time ?? entry.time
  const detail = isCombined ? combinedDetail([entry, ...others], context) : groupDetail(entry, context)
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button for the details offers the same with the keyboard
    <li
      className="activity-row"
      data-open={list.openId === entry.id}
      data-outage={outageOf(entry)}
      onClick={detailsOnClick(entry, list.onOpen)}
    >
      <EntryTime time={entry.time} />
      <EntryIcon entry={entry} />
      <div className="activity-what">
        <p>
          <Sentence parts={parts} />
          {isCombined && !isAssignment(entry) && (isOpen || !statesNumber([entry, ...others])) && (
            <span className="quiet">
              {' · '}
              {formats.shortTime(oldest) !== formats.shortTime(entry.time) &&
                `${spanText(oldest, entry.time, formats)}, `}
              {(isOpen ? text.timesOrMore : text.times)(formats.number(count))}
            </span>
          )}
          {entry.outcome !== 'done' && (
            <>
              {' '}
              <StatusChip tone={entry.outcome === 'denied' ? 'warning' : 'bad'}>{text[entry.outcome]}</StatusChip>
            </>
          )}
          <OutageChip entry={entry} />
        </p>
        {start === undefined ? (
          <Silence entry={entry} />
        ) : (
          <p className="activity-detail">{spanText(start, entry.time, formats)}</p>
        )}
        {detail.length > 0 && (
          <p className="activity-detail">
            <Sentence parts={detail} onMore={count > 1 && !isExpanded ? () => setExpanded(true) : undefined} />
          </p>
        )}
        {count > 1 && (
          <button
            type="button"
            className="link-button activity-expand"
            aria-expanded={isExpanded}
            aria-controls={membersId}
            onClick={() => setExpanded(!isExpanded)}
          >
            <Icon name={isExpanded ? iconChevronDownSmall : iconChevronRightSmall} size={16} />
            {isExpanded ? text.hideMembers : (isCombined ? text.showEntries : text.showMembers)(formats.number(count))}
          </button>
        )}
        <div id={membersId}>
          {isExpanded &&
            (isGroup ? (
              <GroupMembers groupId={entry.cause?.id ?? ''} {...list} />
            ) : (
              <Combined entry={entry} others={others} {...list} />
            ))}
        </div>
      </div>
      <DetailsButton entry={entry} parts={parts} onOpen={list.onOpen} />
    </li>
  )
}

/** `OutageChip` marks the begin and the end of an outage of a gateway or of its links. */
export function OutageChip({ entry }: { entry: ActivityEntry }) {
  const text = useText(activityMessages)
  const outage = outageOf(entry)
  if (outage === undefined) return null
  return (
    <>
      {' '}
      <StatusChip tone={outage === 'begin' ? 'bad' : 'good'}>{text[`outage_${outage}`]}</StatusChip>
    </>
  )
}

/** `Silence` shows since when a gateway or its links do not respond, and after the end of the outage, how long it was. */
function Silence({ entry }: { entry: ActivityEntry }) {
  const text = useText(activityMessages)
  const formats = useFormats()
  const first = outageSince(entry)
  if (first === undefined) return null
  if (outageOf(entry) === 'begin') return <p className="activity-detail">{text.outageSince(formats.compact(first))}</p>
  const duration = formats.duration(Date.parse(entry.time) - Date.parse(first))
  return <p className="activity-detail">{text.silentSince(formats.compact(first), duration)}</p>
}

/** Returns a handler that opens the details of an entry, except for a click on a control, and for a selection of text. */
function detailsOnClick({ id }: ActivityEntry, onOpen: (id: string) => void) {
  return (event: MouseEvent<HTMLElement>) => {
    const target = event.target as Element
    const isOwn = target.closest('.activity-row') === event.currentTarget
    const isControl = target.closest('a, button, ix-icon-button') !== null
    if (isOwn && !isControl && getSelection()?.isCollapsed !== false) onOpen(id)
  }
}

type DetailsButtonProps = { entry: ActivityEntry; parts: readonly SentencePart[]; onOpen: (id: string) => void }

function DetailsButton({ entry, parts, onOpen }: DetailsButtonProps) {
  const text = useText(activityMessages)
  return (
    <IxIconButton
      icon={iconInfo}
      variant="subtle-tertiary"
      size="24"
      title={text.details}
      aria-label={text.detailsOf(sentenceText(parts))}
      onClick={() => onOpen(entry.id)}
    />
  )
}

function EntryTime({ time }: { time: string }) {
  const formats = useFormats()
  return (
    <time className="activity-at" dateTime={time} title={formats.exact(time)}>
      {formats.time(time)}
    </time>
  )
}

type SentenceProps = {
  parts: readonly SentencePart[]
  /** Shows the names that the sentence leaves out. */
  onMore?: (() => void) | undefined
}

/** `Sentence` shows the parts of a sentence: names as links, values as marked text, and the number of further names as a button. */
export function Sentence({ parts, onMore }: SentenceProps) {
  return parts.map((part, index) =>
    part.role === 'more' && onMore !== undefined ? (
      <button key="more" type="button" className="link-button" onClick={onMore}>
        {part.text}
      </button>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a sentence do not move
      <Part key={index} part={part} />
    ),
  )
}

function Part({ part: { text, role, subject = '', note } }: { part: SentencePart }) {
  const canReadUsers = usePermission('glb_access_manage')
  const isUser = /^(user|server-user)\//.test(subject)
  const place = isUser && !canReadUsers ? undefined : locationOf(subject)
  if (place !== undefined && text !== '')
    return (
      <Link
        className="activity-object"
        to={place.to}
        {...(place.search && { search: place.search as never })}
        {...(note !== undefined && { title: note })}
      >
        {text}
      </Link>
    )
  if (role === 'who') return <strong {...(note !== undefined && { title: note })}>{text}</strong>
  if (role === 'old') return <span className="activity-value activity-old">{text}</span>
  if (role === undefined || role === 'more') return text
  return <span className="activity-value">{text}</span>
}

function GroupMembers({ groupId, filters, times, ...list }: ListProps & { groupId: string }) {
  const text = useText(activityMessages)
  const members = useGroupEntries(groupId, filters, times)
  if (members.error !== null) return <ProblemMessage failure={members.error} onRetry={members.retry} />
  if (members.isLoading) return <Loading />
  return (
    <>
      <Members entries={members.entries} filters={filters} times={times} {...list} />
      {members.hasMore && (
        <button type="button" className="link-button" onClick={members.next}>
          {text.loadMoreMembers}
        </button>
      )}
    </>
  )
}

/** `Combined` shows similar entries. Each of several requests can be opened again. */
function Combined({ entry, others, ...list }: Pick<EntryRow, 'entry' | 'others'> & ListProps) {
  const shown = [entry, ...others]
  if (entry.group === undefined) return <Members entries={shown} {...list} />
  return shown.flatMap(({ cause }) =>
    cause === undefined ? [] : <GroupMembers key={cause.id} groupId={cause.id} {...list} />,
  )
}

/** `Members` shows the changes of a group, each with its own details. */
function Members({ entries, openId, onOpen }: ListProps & { entries: readonly ActivityEntry[] }) {
  const context = useSentenceContext()
  return (
    <ul className="activity-members">
      {entries.map((entry) => {
        const parts = sentenceOf(entry, context)
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the button for the details offers the same with the keyboard
          <li
            key={entry.id}
            className="activity-row"
            data-open={openId === entry.id}
            onClick={detailsOnClick(entry, onOpen)}
          >
            <EntryTime time={entry.time} />
            <p className="activity-what">
              <Sentence parts={parts} />
            </p>
            <DetailsButton entry={entry} parts={parts} onOpen={onOpen} />
          </li>
        )
      })}
    </ul>
  )
}

const causeIcons: Readonly<Record<string, string>> = {
  scan: iconSearch,
  import: iconImport,
  campaign: iconCloudUpload,
}

const serviceIcons: Readonly<Record<string, string>> = {
  authorization: iconLock,
  credentials: iconLock,
  identity: iconUser,
  discovery: iconSearch,
  imports: iconImport,
  monitoring: iconMonitoring,
  updates: iconCloudUpload,
}

function iconOf(entry: ActivityEntry): string {
  const { action, cause, group, changes, outcome } = entry
  if (outcome !== 'done') return iconWarning
  const outage = outageOf(entry)
  if (outage !== undefined) return outage === 'begin' ? iconConnectionFail : iconConnectionSuccess
  const state = changes.find(({ field }) => field === 'reachability_state')?.after
  if (state !== undefined && group === undefined) return state === 'failed' ? iconConnectionFail : iconConnectionSuccess
  if (group !== undefined && causeIcons[cause?.kind ?? ''] !== undefined)
    return causeIcons[cause?.kind ?? ''] ?? iconPen
  if (action === 'created') return iconAddCircle
  if (action === 'deleted') return iconTrashcan
  if (/^identity\.(signIn|externalSignIn)$/.test(action)) return iconLogIn
  return serviceIcons[action.split('.')[0] ?? ''] ?? iconPen
}

/** Returns the series of the histogram to which an entry belongs. */
function seriesOf({ action, group }: ActivityEntry): number {
  if (action.includes('.')) return 3
  const { created = 0, updated = 0, deleted = 0 } = group ?? {}
  const most = Math.max(created, updated, deleted)
  if (group !== undefined) return most === created ? 0 : most === updated ? 1 : 2
  return action === 'created' ? 0 : action === 'updated' ? 1 : 2
}

function EntryIcon({ entry }: { entry: ActivityEntry }) {
  return (
    <span
      className="activity-icon"
      data-series={entry.outcome === 'done' ? (outageOf(entry) ?? seriesOf(entry)) : 'refused'}
    >
      <Icon name={iconOf(entry)} size={16} />
    </span>
  )
}
