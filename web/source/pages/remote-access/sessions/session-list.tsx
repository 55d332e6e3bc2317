import { type RemoteSession, sessionStates } from '@millwright/api/remote-access.ts'
import { iconRemoteAccess } from '@siemens/ix-icons/icons'
import { IxButton } from '@siemens/ix-react'
import { Link, useNavigate } from '@tanstack/react-router'
import { useGateways } from '../../../app/api/gateways.ts'
import { usePagedList } from '../../../app/api/paged-list.ts'
import type { Formats } from '../../../app/language/formats.ts'
import { useFormats, useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { usePermission } from '../../../app/session/app-context.tsx'
import { SelectField } from '../../../components/forms/fields.tsx'
import { EmptyState } from '../../../components/page/empty-state.tsx'
import type { Column } from '../../../components/tables/data-table.tsx'
import { useHasEntries } from '../../../components/tables/entries.ts'
import { PagedTable } from '../../../components/tables/paged-table.tsx'
import { RowLink } from '../../../components/tables/row-link.tsx'
import { Toolbar } from '../../../components/tables/toolbar.tsx'
import { PrincipalLink } from '../../../components/values/principal-link.tsx'
import { Time } from '../../../components/values/time.tsx'
import { remoteMessages, stateNames } from '../messages.ts'
import { sessionEvents } from '../remote-session.ts'
import { SessionStateChip, useServiceName } from './session-state.tsx'
import { durationMsOf } from './session-times.ts'

/** `SessionList` lists running and past sessions, newest first. Events update the list. */
export function SessionList() {
  const text = useText(remoteMessages)
  const states = useText(stateNames)
  const formats = useFormats()
  const navigate = useNavigate()
  const serviceName = useServiceName()
  const gateways = useGateways({ isEnabled: usePermission('glb_jobs_read') }).data?.data ?? []
  const [search, setSearch] = useSearchState<'state' | 'gateway' | 'asset'>()
  const state = sessionStates.find((each) => each === search.state)
  const pagedList = usePagedList(
    ['remote-access', 'listSessions'],
    {
      query: {
        ...(state && { state }),
        ...(search.gateway && { gatewayId: search.gateway }),
        ...(search.asset && { assetId: search.asset }),
      },
    },
    sessionEvents,
  )
  const isFiltered = [search.state, search.gateway, search.asset].some((each) => each !== undefined)
  const hasEntries = useHasEntries(pagedList, isFiltered)
  return (
    <>
      {hasEntries && (
        <Toolbar count={text.count(pagedList.total, formats.number(pagedList.total))}>
          <SelectField
            label={text.state}
            isLabelUnseen
            value={search.state ?? ''}
            onChange={(value) => setSearch({ state: value })}
            choices={[
              { value: '', label: text.anyState },
              ...sessionStates.map((value) => ({ value, label: states[value] })),
            ]}
          />
          {gateways.length > 0 && (
            <SelectField
              label={text.gateway}
              isLabelUnseen
              value={search.gateway ?? ''}
              onChange={(value) => setSearch({ gateway: value })}
              choices={[
                { value: '', label: text.anyGateway },
                ...gateways.map(({ id, name }) => ({ value: id, label: name })),
              ]}
            />
          )}
          {search.asset !== undefined && (
            <span>
              {text.onlyOfAsset}{' '}
              <button type="button" className="link-button" onClick={() => setSearch({ asset: undefined })}>
                {text.showAll}
              </button>
            </span>
          )}
        </Toolbar>
      )}
      <PagedTable
        label={text.sessions}
        pagedList={pagedList}
        isTall={false}
        columns={columnsOf(text, { formats, serviceName })}
        idOf={({ id }) => id}
        onOpen={({ id }) => navigate({ to: `/remote/sessions/${id}` })}
        empty={
          isFiltered ? (
            <EmptyState icon={iconRemoteAccess} title={text.noMatches}>
              <p>{text.noMatchesHint}</p>
              <IxButton
                variant="secondary"
                onClick={() => setSearch({ state: undefined, gateway: undefined, asset: undefined })}
              >
                {text.showAll}
              </IxButton>
            </EmptyState>
          ) : null
        }
      />
    </>
  )
}

type Text = (typeof remoteMessages)['en']
type ColumnContext = { formats: Formats; serviceName: (session: RemoteSession) => string }

function columnsOf(text: Text, { formats, serviceName }: ColumnContext): Column<RemoteSession>[] {
  return [
    {
      id: 'asset',
      header: text.asset,
      width: 190,
      cell: ({ assetId, assetName }) => <Link to={`/assets/${assetId}`}>{assetName}</Link>,
    },
    {
      id: 'service',
      header: text.service,
      width: 190,
      cell: (session) => <RowLink to={`/remote/sessions/${session.id}`}>{serviceName(session)}</RowLink>,
    },
    {
      id: 'user',
      header: text.user,
      width: 150,
      cell: ({ requestedBy: { id, name } }) => <PrincipalLink id={id} name={name} />,
    },
    { id: 'state', header: text.state, width: 220, cell: (session) => <SessionStateChip session={session} /> },
    { id: 'started', header: text.started, width: 170, cell: ({ createdTimestamp }) => <Time at={createdTimestamp} /> },
    {
      id: 'duration',
      header: text.duration,
      width: 110,
      cell: (session) => {
        const ms = durationMsOf(session, Date.now())
        return ms === undefined ? null : formats.duration(ms)
      },
    },
    {
      id: 'bytes',
      header: text.traffic,
      width: 170,
      cell: ({ sentBytes, receivedBytes }) => `${formats.bytes(sentBytes)} / ${formats.bytes(receivedBytes)}`,
    },
  ]
}
