import { IxButton } from '@siemens/ix-react'
import { type ReactNode, useMemo } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { Time } from '../../../components/values/time.tsx'
import { AuthorLink } from '../../activity/author-link.tsx'
import { authorName } from '../../activity/author-name.ts'
import { assetEvents } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'
import { type Difference, differencesOf } from './differences.ts'
import { FieldSources, pathOf, SourceName } from './field-sources.tsx'
import { useFieldTexts } from './field-texts.ts'
import { type RelationChangeRow, useRelationChanges } from './relation-changes.ts'
import { RelationEntry, RelationHistory } from './relation-history.tsx'
import { Source } from './source.tsx'

type Entry = Output<'inventory', 'readHistory'>['data'][number]

const views = ['all', 'changes', 'relations', 'sources'] as const

/** `History` shows the history of an asset and of its relations, and the sources of its fields. */
export function History({ id }: { id: string }) {
  const text = useText(assetMessages)
  const [search, show] = useSearchState<'view'>()
  const chosen = views.find((view) => view === search.view) ?? 'all'
  return (
    <>
      <ViewSwitch
        label={text.historyOf}
        choices={[
          { value: 'all', label: text.allChanges },
          { value: 'changes', label: text.fields },
          { value: 'relations', label: text.relations },
          { value: 'sources', label: text.sources },
        ]}
        chosen={chosen}
        onChoose={(view) => show({ view: view === 'all' ? undefined : view })}
      />
      {chosen === 'all' && <Timeline id={id} />}
      {chosen === 'changes' && <Changes id={id} />}
      {chosen === 'relations' && <RelationHistory id={id} />}
      {chosen === 'sources' && <FieldSources id={id} />}
    </>
  )
}

/**
 * `Timeline` lists the changes of an asset and of its relations, newest first. If one of the two lists has more entries, the
 * timeline ends at its last loaded entry, so that no entry is missing between two others.
 */
function Timeline({ id }: { id: string }) {
  const text = useText(assetMessages)
  const changes = usePagedList(['inventory', 'readHistory'], { params: { id } }, { live: assetEvents })
  const relations = useRelationChanges(id)
  const failed = changes.error === null ? relations : changes
  if (failed.error !== null) return <ProblemMessage failure={failed.error} onRetry={failed.retry} />
  if (changes.isLoading || relations.isLoading) return <Loading />
  const partial = [changes, relations].filter(({ rows, total }) => rows.length < total)
  const end = Math.max(...partial.map(({ rows }) => Date.parse(rows.at(-1)?.time ?? '')), 0)
  const entries = [
    ...changes.rows.map((entry) => ({ time: entry.time, key: String(entry.version), entry })),
    ...groupsOf(relations.rows).map((rows) => ({
      time: rows[0].time,
      key: `${rows[0].relation.id}/${rows[0].change}`,
      rows,
    })),
  ]
    .filter(({ time }) => Date.parse(time) >= end)
    .toSorted((one, other) => Date.parse(other.time) - Date.parse(one.time))
  if (entries.length === 0) return <p className="quiet">{text.noHistory}</p>
  const isExact = new Set(entries.map(({ time }) => minuteOf(time))).size < entries.length
  return (
    <>
      <ol className="history">
        {entries.map((each) =>
          'entry' in each ? (
            <HistoryEntry key={each.key} entry={each.entry} isOpen={false} isExact={isExact} />
          ) : (
            <RelationEntry key={each.key} rows={each.rows} isExact={isExact} />
          ),
        )}
      </ol>
      {partial.length > 0 && (
        <IxButton
          variant="secondary"
          onClick={() => {
            for (const list of partial) list.next()
          }}
        >
          {text.moreHistory}
        </IxButton>
      )}
    </>
  )
}

/** `Changes` lists the changes of an asset with their authors and times, newest first. */
function Changes({ id }: { id: string }) {
  const text = useText(assetMessages)
  const pagedList = usePagedList(['inventory', 'readHistory'], { params: { id } }, { live: assetEvents })
  if (pagedList.error !== null) return <ProblemMessage failure={pagedList.error} onRetry={pagedList.retry} />
  if (pagedList.isLoading) return <Loading />
  if (pagedList.rows.length === 0) return <p className="quiet">{text.noHistory}</p>
  const hasSharedMinutes = new Set(pagedList.rows.map(({ time }) => minuteOf(time))).size < pagedList.rows.length
  return (
    <>
      <ol className="history">
        {pagedList.rows.map((entry, index) => (
          <HistoryEntry key={entry.version} entry={entry} isOpen={index === 0} isExact={hasSharedMinutes} />
        ))}
      </ol>
      {pagedList.rows.length < pagedList.total && (
        <IxButton variant="secondary" onClick={pagedList.next}>
          {text.moreHistory}
        </IxButton>
      )}
    </>
  )
}

type RelationGroup = [RelationChangeRow, ...RelationChangeRow[]]

/** Groups the relation changes of one author in the same second, for example those of an import. */
function groupsOf(rows: readonly RelationChangeRow[]): RelationGroup[] {
  const groups = new Map<string, RelationGroup>()
  for (const row of rows) {
    const key = `${row.change} ${row.principalName} ${Math.floor(Date.parse(row.time) / 1_000)}`
    const group = groups.get(key)
    if (group === undefined) groups.set(key, [row])
    else group.push(row)
  }
  return [...groups.values()]
}

/** Returns the minute of a timestamp. Changes of the same minute are shown with seconds. */
function minuteOf(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 60_000)
}

/** The number of changed fields that the summary of a change names. */
const namedFields = 3

/** The length of the values that the summary of a change shows. */
const maxValueLength = 30

type ValueText = ReturnType<typeof useFieldTexts>['fieldValueText']

/** Returns whether both values of a difference fit into the summary of a change. */
function isShortDifference({ field, before, after }: Difference, valueText: ValueText): boolean {
  return [before, after].every((value) => valueText(field, value).length <= maxValueLength)
}

type HistoryEntryProps = { entry: Entry; isOpen: boolean; isExact: boolean }

function HistoryEntry({ entry, isOpen, isExact }: HistoryEntryProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const [, change] = useSearchState<'at'>()
  const differences = useMemo(() => differencesOf(entry.before, entry.after), [entry])
  const word = { created: text.createdChange, updated: text.updated, deleted: text.deletedChange }[entry.change]
  const { fieldName, fieldValueText } = useFieldTexts()
  const names = differences.slice(0, namedFields).map(({ field, before, after }) => {
    const values = [before, after].map((value) => fieldValueText(field, value) || '–')
    const isShort = entry.change === 'updated' && isShortDifference({ field, before, after }, fieldValueText)
    return isShort ? `${fieldName(field)}: ${values.join(' → ')}` : fieldName(field)
  })
  const others = differences.length - names.length
  const changed = others > 0 ? [...names, text.moreFields(formats.number(others))] : names
  const author = <AuthorLink principal={entry.principal} principalName={entry.principalName} />
  const lineBy = (name: ReactNode) => (
    <>
      <strong>{word}</strong> <Time at={entry.time} isExact={isExact} /> {text.by} {name}
      {/* A change without another source was made by its author. */}
      {entry.source.type !== 'manual' && (
        <span className="quiet">
          {' · '}
          <Source source={entry.source} />
        </span>
      )}
      {changed.length > 0 && ` · ${changed.join(', ')}`}
    </>
  )
  const showVersion = entry.change !== 'deleted' && (
    <button
      type="button"
      className="link-button"
      aria-label={`${text.viewVersion}: ${formats.exact(entry.time)}`}
      onClick={() => change({ at: entry.time })}
    >
      {text.viewVersion}
    </button>
  )
  // The line shows the only changed field completely.
  const [only] = differences
  const isComplete =
    entry.change === 'updated' &&
    differences.length === 1 &&
    (entry.overruled ?? []).length === 0 &&
    only !== undefined &&
    isShortDifference(only, fieldValueText)
  if (isComplete)
    return (
      <li className="history-line">
        <span>{lineBy(author)}</span>
        {showVersion}
      </li>
    )
  return (
    <li>
      <details open={isOpen}>
        {/* A summary is a control, so it contains no links. */}
        <summary>{lineBy(authorName(entry.principalName))}</summary>
        <div className="history-body">
          <p className="quiet">
            {text.changedBy} {author}
          </p>
          {differences.length === 0 ? (
            <p className="quiet">{text.noDifference}</p>
          ) : (
            <table className="differences">
              <thead>
                <tr>
                  <th scope="col">{text.field}</th>
                  <th scope="col">{text.before}</th>
                  <th scope="col">{text.after}</th>
                </tr>
              </thead>
              <tbody>
                {differences.map(({ field, before, after }) => (
                  <tr key={field}>
                    <th scope="row">{fieldName(field)}</th>
                    <td className="was">{fieldValueText(field, before)}</td>
                    <td className="is">{fieldValueText(field, after)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          )}
          <Overruled entry={entry} />
          {showVersion}
        </div>
      </details>
    </li>
  )
}

/** `Overruled` lists the values that a scan reported, but that were not used, and the source that wins. */
function Overruled({ entry: { overruled = [] } }: { entry: Entry }) {
  const text = useText(assetMessages)
  const { fieldName } = useFieldTexts()
  if (overruled.length === 0) return null
  return (
    <>
      <p className="quiet">{text.overruled}</p>
      <ul>
        {overruled.map(({ field, source }) => (
          <li key={field}>
            {fieldName(pathOf(field))}: <SourceName source={source} />
          </li>
        ))}
      </ul>
    </>
  )
}
