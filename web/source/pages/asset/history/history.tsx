import { IxButton } from '@siemens/ix-react'
import { useMemo } from 'react'
import type { Output } from '../../../app/api/client.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { ViewSwitch } from '../../../components/forms/view-switch.tsx'
import { Time } from '../../../components/values/time.tsx'
import { useAssetProperties } from '../../assets/model/properties.ts'
import { valueName } from '../../assets/model/value-names.ts'
import { assetEvents } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'
import { differencesOf, fieldPathText, valueText } from './differences.ts'
import { RelationHistory } from './relation-history.tsx'
import { Source } from './source.tsx'

type Entry = Output<'inventory', 'readHistory'>['data'][number]

const views = ['changes', 'relations'] as const

/** `History` shows the history of an asset and of its relations. */
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
        ]}
        chosen={chosen}
        onChoose={(view) => show({ view: view === 'changes' ? undefined : view })}
      />
      {chosen === 'changes' ? <Changes id={id} /> : <RelationHistory id={id} />}
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
  return (
    <>
      <ol className="history">
        {pagedList.rows.map((entry, index) => (
          <HistoryEntry key={entry.version} entry={entry} isOpen={index === 0} />
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

function HistoryEntry({ entry, isOpen }: { entry: Entry; isOpen: boolean }) {
  const text = useText(assetMessages)
  const [, change] = useSearchState<'at'>()
  const differences = useMemo(() => differencesOf(entry.before, entry.after), [entry])
  const word = { created: text.createdChange, updated: text.updated, deleted: text.deletedChange }[entry.change]
  const { fieldName, fieldValueText } = useFieldTexts()
  return (
    <li>
      <details open={isOpen}>
        <summary>
          <strong>{word}</strong> <Time at={entry.time} /> {text.by(entry.principalName)}
          <span className="quiet">
            {' '}
            · <Source source={entry.source} /> · {text.fields(differences.length)}
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

/**
 * Returns functions for the display names of fields and of their values. A field without a display name is shown as its
 * path.
 */
function useFieldTexts() {
  const language = useLanguage()
  const properties = useAssetProperties()
  const fieldName = (field: string) =>
    properties.find(({ path }) => path === field)?.title[language] ?? fieldPathText(field)
  const fieldValueText = (field: string, value: unknown) =>
    typeof value === 'string' ? valueName(field, value, language) : valueText(value)
  return { fieldName, fieldValueText }
}
