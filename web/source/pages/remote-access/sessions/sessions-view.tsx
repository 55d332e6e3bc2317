import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useOperationQuery } from '../../../app/api/queries.ts'
import { useText } from '../../../app/language/language-context.tsx'
import { useSearchState } from '../../../app/navigation/search-state.ts'
import { Loading } from '../../../components/feedback/loading.tsx'
import { DeviceList } from '../connect/device-list.tsx'
import { connectMessages } from '../connect/messages.ts'
import { remoteMessages } from '../messages.ts'
import { sessionEvents } from '../remote-session.ts'
import { SessionList } from './session-list.tsx'
import '../remote-access.css'

/**
 * `SessionsView` lists the devices that the user can connect to, and the sessions. The sessions are first if one of them is open
 * or if the page is opened with a filter for sessions. The order stays until the page is opened again. Without sessions, the devices
 * have the remaining height of the page.
 */
export function SessionsView() {
  const text = useText(remoteMessages)
  const connectText = useText(connectMessages)
  const query = useOperationQuery()
  const [{ state, gateway, asset }] = useSearchState<'state' | 'gateway' | 'asset'>()
  const isFiltered = [state, gateway, asset].some((each) => each !== undefined)
  const [areSessionsFirst, setSessionsFirst] = useState<boolean | undefined>(isFiltered || undefined)
  const open = useQuery(query(['remote-access', 'listSessions'], { query: { state: 'open', limit: 1 } }, sessionEvents))
  const all = useQuery(query(['remote-access', 'listSessions'], { query: { limit: 1 } }, sessionEvents))
  // The number of an earlier visit can be outdated.
  if (all.isPending || (areSessionsFirst === undefined && open.isFetching)) return <Loading />
  if (areSessionsFirst === undefined) setSessionsFirst((open.data?.meta.totalElements ?? 0) > 0)
  const hasNoSessions = !isFiltered && all.data?.meta.totalElements === 0
  const devices = { id: 'devices', title: connectText.devices, list: <DeviceList isTall={hasNoSessions} /> }
  const sessions = {
    id: 'sessions',
    title: text.sessions,
    list: hasNoSessions ? <p className="quiet remote-no-sessions">{text.none}</p> : <SessionList />,
  }
  const lists = areSessionsFirst && !hasNoSessions ? [sessions, devices] : [devices, sessions]
  return (
    <>
      {lists.map(({ id, title, list }) => (
        <section key={id} className="remote-section" aria-labelledby={`remote-${id}`}>
          <h2 id={`remote-${id}`}>{title}</h2>
          {list}
        </section>
      ))}
    </>
  )
}
