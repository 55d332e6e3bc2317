import type { ActivityEntry } from '@millwright/api/activity.ts'
import { auditActivity } from '@millwright/api/activity-kinds.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useOperationQuery } from '../../app/api/queries.ts'
import { useFormats, useText } from '../../app/language/language-context.tsx'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { Card } from '../../components/page/card.tsx'
import { KeyFigures } from '../../components/values/key-figures.tsx'
import { Time } from '../../components/values/time.tsx'
import { TimeBars } from '../../components/values/time-bars.tsx'
import { useHistogram, useLastVisit, useLiveActivity } from '../activity/activity-data.ts'
import { OutageChip, Sentence, useSentenceContext } from '../activity/activity-list.tsx'
import { outageOf, rowsOf } from '../activity/entry-rows.ts'
import { rowSentence, statesNumber } from '../activity/sentence.ts'
import { denseBuckets, rangeOf } from '../activity/time-range.ts'
import '../activity/activity.css'
import { digestRows } from './digest-rows.ts'
import { startMessages } from './messages.ts'

/** The number of loaded entries. Similar entries are one row. */
const loadedEntries = 100

/** The minimum time between two refreshes. The digest is an overview, and a plant has events all the time. */
const refreshIntervalMs = 60_000

/** `EntryAge` shows the time of day of the entries of today, with seconds, because many entries can have the same minute. */
function EntryAge({ time }: { time: string }) {
  const isToday = new Date(time).toDateString() === new Date().toDateString()
  return isToday ? <Time at={time} isTimeOfDay /> : <Time at={time} isCompact />
}

const signIns: readonly string[] = auditActivity.sign_in.actions

/** Returns whether an entry belongs to the digest. Successful sign-ins are many, and they change nothing. */
function isNotable({ action, outcome }: ActivityEntry): boolean {
  return outcome !== 'done' || !signIns.includes(action)
}

/** `DigestCard` shows what changed since the last visit of the user: numbers, their course, and the newest changes. */
export function DigestCard() {
  const text = useText(startMessages)
  const formats = useFormats()
  const query = useOperationQuery()
  const context = useSentenceContext()
  const [now] = useState(() => new Date())
  const lastVisit = useLastVisit(now)
  const range = rangeOf('visit', now, lastVisit)
  useLiveActivity({ intervalMs: refreshIntervalMs })
  const histogram = useHistogram({}, range, now).data ?? []
  const entries = useQuery(
    query(['activity', 'listEntries'], { query: { from: range.from.toISOString(), limit: loadedEntries } }),
  )
  const sum = (kind: 'created' | 'updated' | 'deleted') =>
    formats.number(histogram.reduce((total, bucket) => total + bucket[kind], 0))
  const changes = denseBuckets(range, histogram, now).map(({ time, counts }) => ({
    time,
    count: counts.slice(0, 3).reduce((total, each) => total + each, 0),
  }))
  const timeOf = (time: number) => {
    const at = new Date(time).toISOString()
    return range.bucket === 'day' ? formats.shortDay(at) : formats.compact(at)
  }
  return (
    <Card
      title={lastVisit === undefined ? text.lastDay : text.sinceVisit(formats.relative(lastVisit.toISOString()))}
      actions={
        <Link to="/activity" search={{ range: 'visit' } as never}>
          {text.openActivity}
        </Link>
      }
    >
      <div className="start-digest">
        <KeyFigures
          figures={[
            { name: text.added, value: sum('created') },
            { name: text.updated, value: sum('updated') },
            { name: text.removed, value: sum('deleted') },
          ]}
        />
        {changes.filter(({ count }) => count > 0).length > 1 && (
          <TimeBars
            label={range.bucket === 'day' ? text.changesPerDay : text.changesPerHour}
            buckets={changes}
            scaleLabel={formats.number}
            describe={({ time, count }) => text.changesAt(formats.number(count), timeOf(time))}
            ends={{ first: timeOf(range.from.getTime()), last: text.now }}
          />
        )}
      </div>
      <QueryState query={entries}>
        {({ data, meta }) => {
          const notable = data.filter(isNotable)
          return notable.length === 0 ? (
            <p className="quiet">{text.nothingChanged}</p>
          ) : (
            <ul className="start-list start-sentences">
              {digestRows(rowsOf(notable, { hasMore: meta.nextCursor !== undefined })).map(
                ({ entry, others, isOpen, since }) => (
                  <li key={entry.id} data-outage={outageOf(entry)}>
                    <p>
                      <Sentence
                        parts={rowSentence(
                          { entry, others, start: outageOf(entry) === 'end' ? since : undefined },
                          context,
                        )}
                      />
                      {others.length > 0 &&
                        entry.group === undefined &&
                        !isOpen &&
                        !statesNumber([entry, ...others]) && (
                          <span className="quiet"> · {text.times(formats.number(others.length + 1))}</span>
                        )}
                      {since !== undefined && outageOf(entry) === 'begin' && (
                        <span className="quiet" title={formats.exact(since)}>
                          {' '}
                          {text.outageSince(formats.compact(since))}
                        </span>
                      )}
                      <OutageChip entry={entry} />
                    </p>
                    <span className="quiet">
                      <EntryAge time={entry.time} />
                    </span>
                  </li>
                ),
              )}
            </ul>
          )
        }}
      </QueryState>
    </Card>
  )
}
