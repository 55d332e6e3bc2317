import type { ListedCredentialInstance } from '@millwright/api/credentials-shapes.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { type ReactNode, useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useCreateDialog } from '../../../app/navigation/create-dialog-state.ts'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { Time } from '../../../components/values/time.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { CredentialFlow } from '../flow/credential-flow.tsx'
import { useCredentialTypes } from '../flow/credential-types.ts'
import { credentialMessages } from '../messages.ts'
import { type CredentialKind, kindOf, userOf } from './credential-kind.ts'
import './credential-list.css'

/** Matches a complete IP address, for which the API returns the credentials whose ranges contain it. Other words are searched as text. */
const completeAddress = /^(\d{1,3}(\.\d{1,3}){3}|[0-9a-f]*:[0-9a-f:.]+)$/i

/** `CredentialList` lists credentials without their secrets. */
export function CredentialList() {
  const text = useText(credentialMessages)
  const formats = useFormats()
  const navigate = useNavigate()
  const canWrite = usePermission('glb_credential_write')
  const [search, setSearch] = useSearchState<'q'>()
  const [isAdding, setAdding] = useCreateDialog()
  const [product, setProduct] = useState<string>()
  const words = search.q?.trim() ?? ''
  const address = completeAddress.test(words) ? words : undefined
  const pagedList = usePagedList(
    ['credentials', 'listInstances'],
    { query: { ...(address !== undefined ? { address } : words !== '' && { q: words }) } },
    { live: ['credentials'] },
  )
  const hasEntries = useHasEntries(pagedList, words !== '')
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
          {canWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
          <SearchField
            label={text.search}
            hint={text.searchHint}
            value={search.q ?? ''}
            onChange={(value) => setSearch({ q: value })}
          />
        </Toolbar>
      )}
      {address !== undefined && pagedList.rows.length > 0 ? (
        <UseOrder address={address} rows={pagedList.rows} />
      ) : (
        pagedList.total > 1 && <p className="quiet section-note">{text.overlap}</p>
      )}
      <PagedTable
        label={text.instances}
        pagedList={pagedList}
        isRoomy
        columns={columnsOf(text, formats)}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/credentials/${id}` })}
        empty={
          words === '' ? (
            <NoCredentials onAdd={() => setAdding(true)} onChoose={setProduct} />
          ) : (
            <EmptyState icon={iconKey} title={address === undefined ? text.noMatches : text.noneForAddress}>
              {canWrite && <IxButton onClick={() => setAdding(true)}>{text.add}</IxButton>}
            </EmptyState>
          )
        }
      />
      {isAdding && canWrite && (
        <CredentialFlow onClose={() => setAdding(false)} onDone={(id) => navigate({ to: `/credentials/${id}` })} />
      )}
      {product !== undefined && canWrite && (
        <CredentialFlow
          product={product}
          onClose={() => setProduct(undefined)}
          onDone={(id) => navigate({ to: `/credentials/${id}` })}
        />
      )}
    </>
  )
}

type NoCredentialsProps = { onAdd: () => unknown; onChoose: (product: string) => void }

/** `NoCredentials` explains why credentials are needed, and offers a button for each credential type. */
function NoCredentials({ onAdd, onChoose }: NoCredentialsProps) {
  const text = useText(credentialMessages)
  const canWrite = usePermission('glb_credential_write')
  const { types, isLoading } = useCredentialTypes()
  return (
    <EmptyState icon={iconKey} title={text.none} isAtStart>
      <p>{text.noneHint}</p>
      {canWrite && !isLoading && types.length > 0 && (
        <>
          <p>{text.chooseType}</p>
          <div className="notice-actions">
            {types.map(({ product, name }) => (
              <IxButton key={product} variant="secondary" onClick={() => onChoose(product)}>
                {name}
              </IxButton>
            ))}
          </div>
          <p className="quiet">
            {text.otherTypes} <Link to="/discovery">{text.toGateways}</Link>
          </p>
        </>
      )}
      {canWrite && <IxButton onClick={onAdd}>{text.add}</IxButton>}
    </EmptyState>
  )
}

/** `UseOrder` names the credentials in the order in which a scan tries them at an address, by asset link. */
function UseOrder({ address, rows }: { address: string; rows: readonly ListedCredentialInstance[] }) {
  const text = useText(credentialMessages)
  const tried = rows.filter(({ order }) => order !== undefined)
  const byLink = [...Map.groupBy(tried, ({ resourceIdentifier }) => resourceIdentifier)]
  if (byLink.length === 0) return <p className="section-note">{text.noOrder(address)}</p>
  return (
    <div className="section-note">
      <p>{text.orderFor(address)}</p>
      <ul>
        {byLink.map(([link, instances]) => (
          <li key={link}>
            <strong>{linkTitle(link)}:</strong>{' '}
            {instances
              .toSorted((one, other) => Number(one.order) - Number(other.order))
              .map(({ name, order }) => `${order}. ${name}`)
              .join(', ')}
          </li>
        ))}
      </ul>
    </div>
  )
}

type Text = (typeof credentialMessages)['en']

function columnsOf(text: Text, formats: Formats): Column<ListedCredentialInstance>[] {
  const kindNames: Readonly<Record<Exclude<CredentialKind, 'other'>, string>> = {
    user: text.userKind,
    certificate: text.certificateKind,
    community: text.communityKind,
    snmpUser: text.snmpUserKind,
  }
  return [
    {
      id: 'name',
      header: text.name,
      width: 205,
      cell: ({ id, name, values }) => (
        <TwoLines second={userOf(values)}>
          <Link to={`/credentials/${id}`} title={name}>
            {name}
          </Link>
        </TwoLines>
      ),
    },
    {
      id: 'kind',
      header: text.kind,
      width: 155,
      cell: ({ values, schemaTitle, resourceIdentifier }) => {
        const kind = kindOf(values)
        const link = linkTitle(resourceIdentifier)
        const name = kind === 'other' ? (schemaTitle ?? link) : kindNames[kind]
        return (
          <TwoLines second={link} title={`${name}, ${text.product}: ${link}`}>
            {name}
          </TwoLines>
        )
      },
    },
    {
      id: 'ranges',
      header: text.range,
      width: 115,
      minWidth: 108,
      cell: ({ metadata: { ipRanges, purpose } }) => (
        <span title={`${ipRanges.join(', ')}: ${text[purpose ?? 'both']}`}>{ipRanges.join(', ')}</span>
      ),
    },
    {
      id: 'order',
      header: text.order,
      hint: text.orderHint,
      width: 190,
      minWidth: 165,
      cell: (row) => <UsePlace credentials={row} />,
    },
    {
      id: 'result',
      header: text.lastResult,
      width: 345,
      minWidth: 330,
      cell: (row) => <LastResult credentials={row} formats={formats} />,
    },
    {
      id: 'changed',
      header: text.changed,
      width: 100,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} isRelative isShort />,
    },
  ]
}

type TwoLinesProps = { children: ReactNode; second?: ReactNode; title?: string }

/** `TwoLines` shows a value in a cell, with smaller details below it. */
function TwoLines({ children, second, title }: TwoLinesProps) {
  return (
    <span className="credential-cell" title={title}>
      <span>{children}</span>
      {second !== undefined && <span className="quiet">{second}</span>}
    </span>
  )
}

/**
 * `UsePlace` shows the place of credentials among those that a scan tries, and the addresses where it is another one. The tooltip
 * names the credentials that the scan tries before.
 */
function UsePlace({ credentials: { assetId, metadata, places } }: { credentials: ListedCredentialInstance }) {
  const text = useText(credentialMessages)
  if (assetId !== undefined || metadata.purpose === 'monitoring')
    return <span className="quiet">{assetId === undefined ? text.notInScans : text.onlyAsset}</span>
  const [first, ...others] = places
  const after = first?.after.map(({ name }) => name).join(', ') ?? ''
  const main = after === '' || others.length > 0 ? text.place(first?.place) : text.placeAfter(first?.place)
  const second =
    others.length > 0
      ? others.map(({ place, ipRanges }) => text.placeIn(place, ipRanges.join(', '))).join('; ')
      : after || undefined
  const details = others.map((other) =>
    text.placeInAfter(other.place, other.ipRanges.join(', '), other.after.map(({ name }) => name).join(', ')),
  )
  return (
    <TwoLines
      {...(second !== undefined && { second, title: [main, ...(details.length > 0 ? details : [second])].join('\n') })}
    >
      {main}
    </TwoLines>
  )
}

type LastResultProps = { credentials: ListedCredentialInstance; formats: Formats }

/**
 * `LastResult` shows how many devices accepted and refused the latest login with the credentials, when, and whether that was after
 * the last change. For refusals, it leads to the devices. It offers to change credentials that no device accepts, unless the
 * devices accept other ones or the credentials have changed since.
 */
function LastResult({ credentials: { id, logins, values, lastModifiedTimestamp }, formats }: LastResultProps) {
  const text = useText(credentialMessages)
  const canWrite = usePermission('glb_credential_write')
  const { accepted, refused, refusedWithOther, lastWorkedTimestamp, lastFailedTimestamp } = logins
  if (accepted + refused === 0) return <span className="quiet">{text.notUsed}</span>
  const result = text.result(accepted, refused, formats.number)
  const latest = [lastWorkedTimestamp, lastFailedTimestamp]
    .flatMap((time) => time ?? [])
    .toSorted()
    .at(-1)
  const isCurrent = (latest ?? '') > lastModifiedTimestamp
  const isReplaced = refused > 0 && refusedWithOther === refused
  const tone = refused === 0 ? 'good' : accepted > 0 || isReplaced || !isCurrent ? 'warning' : 'bad'
  const canChange = canWrite && accepted === 0 && refusedWithOther === 0 && isCurrent
  return (
    <TwoLines
      second={
        <>
          {isCurrent ? text.usedAfterChange : text.notUsedSinceChange}
          {refusedWithOther > 0 && ` · ${text.refusedWithOther(refusedWithOther, refused, formats.number)}`}
          {canChange && (
            <>
              {' · '}
              <Link to={`/credentials/${id}`} search={{ edit: 'yes' } as never}>
                {kindOf(values) === 'user' ? text.changePassword : text.changeValues}
              </Link>
            </>
          )}
        </>
      }
    >
      <StatusText tone={tone}>
        {refused === 0 ? result : <Link to={`/credentials/${id}`}>{result}</Link>} ·{' '}
        <Time at={latest} isRelative isShort />
      </StatusText>
    </TwoLines>
  )
}
