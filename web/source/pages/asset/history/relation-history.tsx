import { iconHistory } from '@siemens/ix-icons/icons'
import { Link } from '@tanstack/react-router'
import { Fragment, type ReactNode } from 'react'
import { useFormats, useLanguage, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { predicateName } from '../../../components/graph/predicate-name.ts'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { StatusChip } from '../../../components/values/status-chip.tsx'
import { Time } from '../../../components/values/time.tsx'
import { AuthorLink } from '../../activity/author-link.tsx'
import { authorName } from '../../activity/author-name.ts'
import { NodeLink } from '../../hierarchy/node-link.tsx'
import { useHistoryStart } from '../asset-data.ts'
import { assetMessages } from '../messages.ts'
import { type RelationChangeRow, useRelationChanges } from './relation-changes.ts'
import { Source } from './source.tsx'

/** `RelationHistory` lists the added and removed relations of an asset with their times and authors, newest first. */
export function RelationHistory({ id }: { id: string }) {
  const text = useText(assetMessages)
  const pagedList = useRelationChanges(id)
  const columns = useColumns()
  return (
    <PagedTable
      label={text.relationHistory}
      pagedList={pagedList}
      idOf={({ relation, change }) => `${relation.id}/${change}`}
      columns={columns}
      empty={
        <EmptyState icon={iconHistory} title={text.noRelationHistory}>
          <p>{text.noRelationHistoryHint}</p>
        </EmptyState>
      }
    />
  )
}

function useColumns(): Column<RelationChangeRow>[] {
  const text = useText(assetMessages)
  const language = useLanguage()
  return [
    { id: 'time', header: text.when, width: 180, cell: ({ time }) => <Time at={time} isExact /> },
    {
      id: 'change',
      header: text.change,
      width: 145,
      cell: ({ change }) =>
        change === 'created' ? (
          <StatusChip tone="good">{text.added}</StatusChip>
        ) : (
          <StatusChip tone="warning">{text.removed}</StatusChip>
        ),
    },
    {
      id: 'direction',
      header: text.direction,
      width: 115,
      cell: ({ direction }) => (direction === 'out' ? text.out : text.in),
    },
    {
      id: 'predicate',
      header: text.predicate,
      width: 165,
      cell: ({ relation }) => <span title={relation.predicate}>{predicateName(relation.predicate, language)}</span>,
    },
    { id: 'other', header: text.relatedTo, width: 190, cell: (row) => <Other row={row} /> },
    {
      id: 'by',
      header: text.changedBy,
      width: 140,
      cell: ({ principal, principalName }) =>
        principalName === null ? (
          <span className="quiet">{text.notRecorded}</span>
        ) : (
          <AuthorLink principal={principal} principalName={principalName} />
        ),
    },
    { id: 'then', header: text.showInGraph, width: 208, cell: (row) => <ShowVersion row={row} /> },
    { id: 'source', header: text.source, width: 240, cell: ({ source }) => <Source source={source} /> },
  ]
}

type RelationEntryProps = { rows: readonly [RelationChangeRow, ...RelationChangeRow[]]; isExact: boolean }

/** `RelationEntry` shows relations that were added or removed together as one entry of the timeline of an asset. */
export function RelationEntry({ rows, isExact }: RelationEntryProps) {
  const text = useText(assetMessages)
  const formats = useFormats()
  const [row] = rows
  const { change, time, principalName } = row
  const word = change === 'created' ? text.relationsAdded : text.relationsRemoved
  const headBy = (author: ReactNode) => (
    <>
      <strong>{word(rows.length, formats.number(rows.length))}</strong> <Time at={time} isExact={isExact} />{' '}
      {principalName && (
        <>
          {text.by} {author}
        </>
      )}
    </>
  )
  const author = principalName && <AuthorLink principal={row.principal} principalName={principalName} />
  if (rows.length === 1)
    return (
      <li className="history-line">
        <span>
          {headBy(author)} · <RelationText row={row} />
        </span>
        <ShowVersion row={row} />
      </li>
    )
  const named = rows.slice(0, namedRelations)
  const others = rows.length - named.length
  return (
    <li>
      <details>
        <summary>
          {/* A summary is a control, so it contains no links. */}
          {headBy(principalName && authorName(principalName))} ·{' '}
          {named.map((each, index) => (
            <Fragment key={each.relation.id}>
              {index > 0 && ', '}
              <OtherName row={each} />
            </Fragment>
          ))}
          {others > 0 && `, ${text.moreFields(formats.number(others))}`}
        </summary>
        {author && (
          <p className="history-body quiet">
            {text.changedBy} {author}
          </p>
        )}
        <ul className="history-body">
          {rows.map((each) => (
            <li key={each.relation.id}>
              <RelationText row={each} />
            </li>
          ))}
        </ul>
        <ShowVersion row={row} />
      </details>
    </li>
  )
}

/** The number of related assets that the summary of several relations names. */
const namedRelations = 3

function RelationText({ row }: { row: RelationChangeRow }) {
  const text = useText(assetMessages)
  const predicate = predicateName(row.relation.predicate, useLanguage())
  if (row.direction === 'in')
    return (
      <>
        <Other row={row} /> {predicate} {text.thisAssetInSentence}
      </>
    )
  return (
    <>
      {predicate} <Other row={row} />
    </>
  )
}

/**
 * `Other` shows the entity at the other end of a relation. The tooltip contains the full name and the id, because the
 * name may be truncated.
 */
function Other({ row: { other, label } }: { row: RelationChangeRow }) {
  const title = `${label} · ${other.id}`
  if (other.type === 'node') return <NodeLink id={other.id} label={label} />
  if (other.type !== 'asset') return <span title={title}>{label}</span>
  return (
    <Link to="/assets/$id" params={{ id: other.id }} title={title}>
      {label}
    </Link>
  )
}

/** `OtherName` is the name of the entity at the other end of a relation, without a link. */
function OtherName({ row: { other, label } }: { row: RelationChangeRow }) {
  return other.type === 'node' ? <NodeLink id={other.id} label={label} isPlain /> : label
}

/**
 * `ShowVersion` opens the graph of the asset's relations: at the time of the change if the relation was added, or just
 * before the change if it was removed.
 */
function ShowVersion({ row: { time, change, label } }: { row: RelationChangeRow }) {
  const text = useText(assetMessages)
  const [, show] = useSearchState<'at' | 'tab' | 'view'>()
  const historyStart = useHistoryStart()
  const word = change === 'created' ? text.viewVersion : text.viewPrevious
  const at = Date.parse(time) - (change === 'created' ? 0 : 1)
  if (at < historyStart) return null
  return (
    <button
      type="button"
      className="link-button"
      aria-label={`${word}: ${label}`}
      onClick={() => show({ at: new Date(at).toISOString(), tab: 'relations', view: undefined })}
    >
      {word}
    </button>
  )
}
