import { IxButton } from '@siemens/ix-react'
import { useMemo } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { Time } from '../../../components/values/time.tsx'
import { assetEvents } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'
import { differencesOf } from './differences.ts'
import { FieldSources, pathOf, SourceName } from './field-sources.tsx'
import { useFieldTexts } from './field-texts.ts'
import { RelationHistory } from './relation-history.tsx'
import { Source } from './source.tsx'

type Entry = Output<'inventory', 'readHistory'>['data'][number]

const views = ['changes', 'relations', 'sources'] as const

/** `History` shows the history of an asset and of its relations, and the sources of its fields. */
export function History({ id }: { id: string }) {
  const text = useText(assetMessages)
  const [search, show] = useSearchState<'view'>()
  const chosen = views.find((view) => view === search.view) ?? 'changes'
  return (
    <>
      <ViewSwitch
        label={text.historyOf}
        choices={[
          { value: 'changes', label: text.asset },
          { value: 'relations', label: text.relations },
          { value: 'sources', label: text.sources },
        ]}
        chosen={chosen}
        onChoose={(view) => show({ view: view === 'changes' ? undefined : view })}
      />
      {chosen === 'changes' && <Changes id={id} />}
      {chosen === 'relations' && <RelationHistory id={id} />}
      {chosen === 'sources' && <FieldSources id={id} />}
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

/** Returns the minute of a timestamp. Changes of the same minute are shown with seconds. */
function minuteOf(timestamp: string): number {
  return Math.floor(Date.parse(timestamp) / 60_000)
}

/** The number of changed fields that the summary of a change names. */
const namedFields = 3

type HistoryEntryProps = { entry: Entry; isOpen: boolean; isExact: boolean }

function HistoryEntry({ entry, isOpen, isExact }: HistoryEntryProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const [, change] = useSearchState<'at'>()
  const differences = useMemo(() => differencesOf(entry.before, entry.after), [entry])
  const word = { created: text.createdChange, updated: text.updated, deleted: text.deletedChange }[entry.change]
  const { fieldName, fieldValueText } = useFieldTexts()
  const names = differences.slice(0, namedFields).map(({ field }) => fieldName(field))
  const others = differences.length - names.length
  const changed = others > 0 ? [...names, text.moreFields(formats.number(others))] : names
  return (
    <li>
      <details open={isOpen}>
        <summary>
          <strong>{word}</strong> <Time at={entry.time} isExact={isExact} /> {text.by(entry.principalName)}
          <span className="quiet">
            {' '}
            · <Source source={entry.source} />
            {changed.length > 0 && ` · ${changed.join(', ')}`}
          </span>
        </summary>
        <div className="history-body">
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
          {entry.change !== 'deleted' && (
            <IxButton variant="secondary" onClick={() => change({ at: entry.time })}>
              {text.viewVersion}
            </IxButton>
          )}
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
