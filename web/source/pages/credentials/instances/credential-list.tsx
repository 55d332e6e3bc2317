import type { Discovery } from '@millwright/api/discovery.ts'
import { pageLimits } from '@millwright/api/envelope.ts'
import { iconKey } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { usePagedList } from '../../../app/api/paged-list.ts'
import { useOperationQuery } from '../../../app/api/queries.ts'
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
import { TwoLines } from '../../../components/tables/two-lines.tsx'
import { StatusText } from '../../../components/values/status-text.tsx'
import { Time } from '../../../components/values/time.tsx'
import { SearchField } from '../../assets/filter/search-field.tsx'
import { linkTitle } from '../../discovery/built-in-links.ts'
import { CredentialFlow } from '../flow/credential-flow.tsx'
import { useCredentialTypes } from '../flow/credential-types.ts'
import { credentialMessages } from '../messages.ts'
import { type CredentialKind, kindOf, userOf } from './credential-kind.ts'
import { type CredentialRow, LockedDevicesNote, useRowsWithRefusals } from './locked-devices.tsx'
import {
  isOpen,
  type LastLogin,
  lastLogin,
  lockedDevices,
  type RefusalStep,
  refusalSteps,
  refusalsOf,
} from './refusals.ts'
import { inScanOrder, triedLinks } from './scan-order.ts'
import { unusedReason } from './unused-reason.ts'

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
  const scans = useScans()
  const { rows, isLoading: isCounting } = useRowsWithRefusals(pagedList.rows)
  const links = triedLinks(rows)
  const locked = isCounting ? undefined : lockedDevices(rows, { total: pagedList.total, isSearch: words !== '' })
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
      {hasEntries && address === undefined && <p className="quiet section-note">{text.addressHint}</p>}
      {address !== undefined && rows.length > 0 && (
        <p className="section-note">{links === 0 ? text.noOrder(address) : text.orderFor(address, links)}</p>
      )}
      {locked !== undefined && <LockedDevicesNote locked={locked} />}
      <PagedTable
        label={text.instances}
        pagedList={{ ...pagedList, rows: address === undefined ? rows : inScanOrder(rows) }}
        isRoomy
        sorting={address === undefined ? { id: 'changed', isDescending: true } : { id: 'order', isDescending: false }}
        columns={[
          ...(address === undefined ? [] : [orderColumn({ text, formats, hasSeveralLinks: links > 1 })]),
          ...columnsOf({ text, formats, scans, toCorrectId: locked?.toCorrect?.id }),
        ]}
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

/** Returns the scans with their latest run, or undefined if they are not all loaded. */
function useScans(): readonly Discovery[] | undefined {
  const query = useOperationQuery()
  const canRead = usePermission('glb_jobs_read')
  const scans = useQuery({
    ...query(['discovery', 'listDiscoveries'], { query: { limit: pageLimits.maximum } }, { live: ['discovery'] }),
    enabled: canRead,
  }).data
  return scans !== undefined && scans.data.length >= (scans.meta.totalElements ?? 0) ? scans.data : undefined
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

type Text = (typeof credentialMessages)['en']

type ColumnOptions = {
  text: Text
  formats: Formats
  /** The scans, or undefined if not all of them are known. */
  scans: readonly Discovery[] | undefined
  toCorrectId: string | undefined
}

type OrderOptions = Pick<ColumnOptions, 'text' | 'formats'> & {
  /** Whether scans with several asset links try credentials, each in its own order. */
  hasSeveralLinks: boolean
}

/** Returns the column with the order in which a scan tries the credentials of an IP address. */
function orderColumn({ text, formats, hasSeveralLinks }: OrderOptions): Column<CredentialRow> {
  return {
    id: 'order',
    header: text.order,
    width: hasSeveralLinks ? 135 : 100,
    minWidth: hasSeveralLinks ? 130 : 95,
    cell: ({ order, resourceIdentifier }) =>
      order === undefined ? (
        <span className="quiet">{text.notTried}</span>
      ) : (
        <TwoLines {...(hasSeveralLinks && { second: linkTitle(resourceIdentifier) })}>{formats.number(order)}</TwoLines>
      ),
  }
}

function columnsOf({ text, formats, scans, toCorrectId }: ColumnOptions): Column<CredentialRow>[] {
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
      isGrowing: true,
      cell: ({ id, name, values, schemaTitle }) => {
        const kind = kindOf(values)
        const kindName = kind === 'other' ? schemaTitle : kindNames[kind]
        const details = [userOf(values), kindName].filter((each) => each !== undefined).join(' · ')
        return (
          <TwoLines {...(details !== '' && { second: details })} title={[name, details].join('\n')}>
            <Link to={`/credentials/${id}`}>{name}</Link>
          </TwoLines>
        )
      },
    },
    {
      id: 'ranges',
      header: text.usedFor,
      width: 130,
      minWidth: 128,
      isGrowing: true,
      cell: ({ metadata: { ipRanges, purpose }, resourceIdentifier }) => {
        const [link, ranges] = [linkTitle(resourceIdentifier), ipRanges.join(', ')]
        return (
          <TwoLines second={link} title={`${ranges}: ${text[purpose ?? 'both']}\n${text.product}: ${link}`}>
            {ranges}
          </TwoLines>
        )
      },
    },
    {
      id: 'result',
      header: text.lastResult,
      width: 340,
      minWidth: 325,
      cell: (row) =>
        isUnused(row) ? (
          <Unused credentials={row} scans={scans} />
        ) : (
          <LastResult credentials={row} formats={formats} toCorrectId={toCorrectId} />
        ),
    },
    {
      id: 'next',
      header: text.nextStep,
      width: 145,
      minWidth: 140,
      cell: (row) => <NextStep credentials={row} formats={formats} toCorrectId={toCorrectId} />,
    },
    {
      id: 'changed',
      header: text.changed,
      width: 120,
      cell: ({ lastModifiedTimestamp }) => <Time at={lastModifiedTimestamp} isCompact />,
    },
  ]
}

function isUnused({ logins: { accepted, refused } }: CredentialRow): boolean {
  return accepted + refused === 0
}

/** `Unused` states that no device has received credentials, and why, if it is known. */
function Unused({ credentials, scans }: { credentials: CredentialRow; scans: readonly Discovery[] | undefined }) {
  const text = useText(credentialMessages)
  const reason = unusedReason(credentials, scans)
  const notUsed = <span className="quiet">{text.notUsed}</span>
  if (reason === undefined) return notUsed
  const link = linkTitle(credentials.resourceIdentifier)
  const reasons = {
    onlyMonitoring: text.onlyMonitoring,
    noScan: text.noScan(link),
    noScanSince: text.noScanSince(link),
  }
  return <TwoLines second={reasons[reason]}>{notUsed}</TwoLines>
}

type ResultProps = {
  credentials: CredentialRow
  formats: Formats
  /** The credentials to correct. A note above the table names them and links to the devices. */
  toCorrectId: string | undefined
}

/**
 * `LastResult` shows how many devices accepted and refused the latest login with the credentials, and when. If devices have no
 * working credentials, only the credentials to correct are an error.
 */
function LastResult({ credentials, formats, toCorrectId }: ResultProps) {
  const text = useText(credentialMessages)
  const { id, logins, values } = credentials
  const { accepted, refused } = logins
  const { open, withOther, isAtLeast } = refusalsOf(credentials)
  const { kind, at } = lastLogin(credentials)
  const valueKind = kindOf(values)
  const isError = isOpen(credentials) && (toCorrectId ?? id) === id
  const count = (devices: number) => [devices, `${formats.number(devices)}${isAtLeast ? '+' : ''}`] as const
  const details: Readonly<Record<LastLogin['kind'], string>> = {
    worked: text.withCurrent(valueKind),
    workedBefore: text.beforeChange,
    refused: text.refusedCurrent(valueKind),
    refusedBefore: accepted > 0 ? text.refusedBefore : text.beforeChange,
    withoutWorking: text.withoutWorking(...count(open)),
    allWithOther: text.allWithOther(...count(withOther)),
    someWithOther: text.someWithOther(count(withOther), count(open)),
  }
  return (
    <TwoLines
      second={
        <>
          {details[kind]} · <Time at={at} isRelative isShort />
        </>
      }
    >
      <StatusText tone={refused === 0 ? 'good' : isError ? 'bad' : 'warning'}>
        <Link to={`/credentials/${id}`}>{text.result(accepted, refused, formats.number)}</Link>
      </StatusText>
    </TwoLines>
  )
}

/** `NextStep` links to what the user can do about devices that refuse the credentials. */
function NextStep({ credentials, formats, toCorrectId }: ResultProps) {
  const text = useText(credentialMessages)
  const canWrite = usePermission('glb_credential_write')
  const canTest = usePermission('glb_discovery_run') && canWrite
  const { id, values } = credentials
  const { open, isAtLeast } = refusalsOf(credentials)
  const labels: Readonly<Record<RefusalStep, string>> = {
    change: kindOf(values) === 'user' ? text.changePassword : text.changeValues,
    devices: text.showDevices(open, `${formats.number(open)}${isAtLeast ? '+' : ''}`),
    narrow: text.narrowRange,
  }
  const steps = refusalSteps(credentials, canWrite).filter((step) => step !== 'devices' || toCorrectId === undefined)
  if (steps.length === 0 && credentials.assetId === undefined && canTest && isUnused(credentials))
    return (
      <Link
        to={`/credentials/${id}`}
        search={{ test: 'yes' } as never}
        aria-label={text.stepOf(text.test, credentials.name)}
      >
        {text.test}
      </Link>
    )
  const onlyStep = steps.length === 1 ? steps[0] : undefined
  const reason = onlyStep === 'narrow' ? text.againstLocks : onlyStep === 'change' ? text.inCredentials : undefined
  const [first, second = reason] = steps.map((step) => (
    <Link
      key={step}
      to={`/credentials/${id}`}
      {...(step !== 'devices' && { search: { edit: 'yes' } as never })}
      aria-label={text.stepOf(labels[step], credentials.name)}
      {...(step === 'narrow' && { title: text.locksHint })}
    >
      {labels[step]}
    </Link>
  ))
  if (first === undefined) return <span className="quiet">–</span>
  return <TwoLines {...(second !== undefined && { second })}>{first}</TwoLines>
}
