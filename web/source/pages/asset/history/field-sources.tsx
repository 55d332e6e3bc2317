import { iconHistory } from '@siemens/ix-icons/icons'
import { useQuery } from '@tanstack/react-query'
import type { Output } from '../../../app/api/client.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { Loading } from '../../../components/feedback/loading.tsx'
import { ProblemMessage } from '../../../components/feedback/problem-message.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import { type Column, DataTable } from '../../../components/tables/data-table.tsx'
import { Time } from '../../../components/values/time.tsx'
import { valueAt } from '../../assets/model/asset.ts'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { assetEvents, useAsset } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'
import { useFieldTexts } from './field-texts.ts'

type FieldSource = Output<'inventory', 'readFieldSources'>['data'][number]

/** `FieldSources` lists the source of each field that scans or edits wrote, and the values that are not used. */
export function FieldSources({ id }: { id: string }) {
  const text = useText(assetMessages)
  const query = useOperationQuery()
  const { data, error, refetch } = useQuery(
    query(['inventory', 'readFieldSources'], { params: { id } }, { live: assetEvents }),
  )
  const asset = useAsset(id, undefined)
  const columns = useColumns(asset.data)
  if (error !== null) return <ProblemMessage failure={error} onRetry={refetch} />
  if (data === undefined) return <Loading />
  return (
    <>
      <p className="quiet card-lead">{text.sourcesHint}</p>
      <DataTable
        label={text.sources}
        columns={columns}
        rows={data.data}
        idOf={({ field }) => field}
        empty={
          <EmptyState icon={iconHistory} title={text.noSources}>
            <p>{text.noSourcesHint}</p>
          </EmptyState>
        }
      />
    </>
  )
}

function useColumns(asset: unknown): Column<FieldSource>[] {
  const text = useText(assetMessages)
  const { fieldName, fieldValueText } = useFieldTexts()
  return [
    { id: 'field', header: text.field, width: 170, cell: ({ field }) => fieldName(pathOf(field)) },
    {
      id: 'value',
      header: text.value,
      width: 260,
      cell: ({ field }) => {
        const shown = fieldValueText(pathOf(field), valueAt(asset, pathOf(field)))
        return <span title={shown}>{shown}</span>
      },
    },
    { id: 'source', header: text.source, width: 150, cell: ({ source }) => <SourceName source={source} /> },
    { id: 'since', header: text.since, width: 195, cell: ({ since }) => <Time at={since} isExact /> },
    {
      id: 'others',
      header: text.notUsed,
      width: 300,
      cell: ({ field, others }) => {
        const shown = others.map(
          ({ source, value }) => `${fieldValueText(pathOf(field), value)} (${sourceName(source, text.editSource)})`,
        )
        return <span title={shown.join('\n')}>{shown.join(', ')}</span>
      },
    },
  ]
}

/** `SourceName` shows the link that reported a value, or that a person edited it. */
export function SourceName({ source }: { source: string }) {
  return sourceName(source, useText(assetMessages).editSource)
}

function sourceName(source: string, edit: string): string {
  return source === 'manual' ? edit : linkTitle(source)
}

/** Returns the path of a JSON pointer. */
export function pathOf(pointer: string): string {
  return pointer.replace(/^\//, '')
}
