import type { ActivityEntry } from '@millwright/api/activity.ts'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import type { Output } from '../../app/api/client.ts'
import { useOperationQuery } from '../../app/api/queries.ts'
import { QueryState } from '../../components/feedback/query-state.tsx'
import { SidePanel } from '../../components/page/side-panel.tsx'
import { PlainTable } from '../../components/tables/plain-table.tsx'
import { JsonView } from '../../components/values/json-view.tsx'
import { KeyValueList } from '../../components/values/key-value-list.tsx'
import { StatusChip } from '../../components/values/status-chip.tsx'
import { SubjectLink } from '../../components/values/subject-link.tsx'
import { Time } from '../../components/values/time.tsx'
import { Source } from '../asset/history/source.tsx'
import type { ActivitySearch } from './activity-data.ts'
import { Sentence, useSentenceContext } from './activity-list.tsx'
import { authorName } from './author-name.ts'
import { ChainCheck } from './chain-check.tsx'
import { fieldName } from './field-names.ts'
import { sentenceOf, valuesOf } from './sentence.ts'

type Filter = Partial<Record<ActivitySearch, string | undefined>>

type EntryPanelProps = {
  id: string
  /** The begin of the outage whose end is the entry. */
  beginId: string | undefined
  onFilter: (filter: Filter) => unknown
  onClose: () => void
}

type Raw = Output<'activity', 'readEntry'>['data']

/**
 * `EntryPanel` shows the details of an entry: its values, the raw data, and the check of the hash chain. For an outage that has ended, it
 * shows the end and the begin.
 */
export function EntryPanel({ id, beginId, onFilter, onClose }: EntryPanelProps) {
  const { text } = useSentenceContext()
  const query = useOperationQuery()
  const entry = useQuery(query(['activity', 'readEntry'], { params: { id } }))
  const loaded = entry.data?.data.entry
  const { principal, principalName, object } = loaded ?? {}
  return (
    <SidePanel
      title={text.entry}
      onClose={onClose}
      actions={
        loaded !== undefined && (
          <>
            {principal && (
              <IxButton variant="secondary" onClick={() => onFilter({ person: principal })}>
                {text.onlyPerson(authorName(principalName ?? ''))}
              </IxButton>
            )}
            {object?.kind === 'asset' && (
              <IxButton variant="secondary" onClick={() => onFilter({ asset: object.id })}>
                {text.onlyAsset}
              </IxButton>
            )}
          </>
        )
      }
    >
      <QueryState query={entry}>
        {({ data }) => (
          <>
            <Details raw={data} />
            {beginId !== undefined && <BeginDetails id={beginId} />}
            {data.audit !== undefined && <Chain />}
          </>
        )}
      </QueryState>
    </SidePanel>
  )
}

function BeginDetails({ id }: { id: string }) {
  const query = useOperationQuery()
  const begin = useQuery(query(['activity', 'readEntry'], { params: { id } }))
  return (
    <div className="activity-begin">
      <QueryState query={begin}>{({ data }) => <Details raw={data} />}</QueryState>
    </div>
  )
}

function Chain() {
  const { text } = useSentenceContext()
  return (
    <section className="activity-chain" aria-label={text.chain}>
      <h3>{text.chain}</h3>
      <p className="quiet">{text.chainHint}</p>
      <ChainCheck />
    </section>
  )
}

function Details({ raw }: { raw: Raw }) {
  const context = useSentenceContext()
  const { text } = context
  const { entry, audit, before, after } = raw
  const { outcome, cause, object } = entry
  return (
    <>
      <p className="activity-sentence">
        <Sentence parts={sentenceOf(entry, context)} />
      </p>
      <Changes entry={entry} />
      <KeyValueList
        items={[
          { name: text.time, value: <Time at={entry.time} isExact /> },
          { name: text.account, value: authorName(entry.principalName) },
          outcome !== 'done' && {
            name: text.action,
            value: <StatusChip tone={outcome === 'denied' ? 'warning' : 'bad'}>{text[outcome]}</StatusChip>,
          },
          object !== undefined && {
            name: text.objectName,
            value: <ObjectLink object={object} />,
          },
          entry.source !== undefined && {
            name: text.source,
            value: <Source source={entry.source as { type: string; value?: string }} />,
          },
          cause !== undefined && {
            name: text.cause,
            value: [text[`cause_${cause.kind}`], cause.name].filter(Boolean).join(' '),
          },
          audit !== undefined && { name: text.address, value: audit.address ?? text.system },
          audit?.requestId != null && { name: text.request, value: <code>{audit.requestId}</code> },
          audit !== undefined && { name: text.sequence, value: audit.sequence ?? text.pending },
        ]}
      />
      <details className="activity-raw">
        <summary>{text.raw}</summary>
        {audit === undefined ? (
          <>
            <h3>{text.documentBefore}</h3>
            <JsonView value={before ?? null} />
            <h3>{text.documentAfter}</h3>
            <JsonView value={after ?? null} />
          </>
        ) : (
          <JsonView value={audit} />
        )}
      </details>
    </>
  )
}

/** `ObjectLink` shows the name of an object as a link to its page. */
function ObjectLink({ object: { kind, id, name } }: { object: NonNullable<ActivityEntry['object']> }) {
  if (name === undefined) return <SubjectLink subject={`${kind}/${id}`} />
  return <Sentence parts={[{ text: name, role: 'object', subject: `${kind}/${id}` }]} />
}

function Changes({ entry: { changes } }: { entry: ActivityEntry }) {
  const context = useSentenceContext()
  const { text, language } = context
  if (changes.length === 0) return null
  return (
    <PlainTable columns={[text.field, text.before, text.after]}>
      {changes.map((change) => {
        const { before, after } = valuesOf(change, context)
        return (
          <tr key={change.field}>
            <th scope="row">{fieldName(change.field, language, { isPlain: true })}</th>
            <td>{before?.text ?? '–'}</td>
            <td>{after?.text ?? '–'}</td>
          </tr>
        )
      })}
    </PlainTable>
  )
}
