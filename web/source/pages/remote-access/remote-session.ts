import { extensionMinutes, type RemoteSession } from '@millwright/api/remote-access.ts'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { keyOf, useOperationQuery } from '../../app/api/queries.ts'
import { useAppContext, useRights } from '../../app/session/app-context.tsx'

/** The prefix of the events that change sessions. */
export const sessionEvents = { live: ['remote-access.session'] }

/** The polling interval of a session that has not ended. Its counters of bytes change without an event. */
const pollMs = 10_000

/** Returns a session. Events and polling update it until it has ended. */
export function useSession(id: string) {
  const query = useOperationQuery()
  return useQuery({
    ...query(['remote-access', 'readSession'], { params: { id } }, sessionEvents),
    refetchInterval: ({ state }) => (state.data?.data.state === 'ended' ? false : pollMs),
  })
}

/** Returns the number of requests that wait for a decision of the user. */
export function useApprovalCount(): number {
  const query = useOperationQuery()
  const canApprove = useRights().has('remote_access_approve')
  const { data } = useQuery({
    ...query(['remote-access', 'listSessions'], { query: { awaitsMe: true, limit: 1 } }, sessionEvents),
    enabled: canApprove,
  })
  return data?.meta.totalElements ?? 0
}

/** Returns what the user may do with a session. */
export function useSessionRights({ requestedBy, accessGroup, state }: RemoteSession) {
  const { user, rights } = useAppContext()
  const isOwn = requestedBy.id === user.sub
  const canReview = rights.has('remote_access_approve', accessGroup)
  return { isOwn, canEnd: state !== 'ended' && (isOwn || canReview), canReview }
}

/** Returns the number of minutes by which the user can extend a session: 0 if an extension would be refused. */
export function useExtensionMinutes(session: RemoteSession): number {
  const query = useOperationQuery()
  const { isOwn } = useSessionRights(session)
  const params = { accessGroup: session.accessGroup }
  const { data } = useQuery({
    ...query(['remote-access', 'readPolicy'], { params }, { live: ['remote-access.policy'] }),
    enabled: isOwn && session.state === 'open',
  })
  return isOwn && data !== undefined ? extensionMinutes(session, data.data) : 0
}

/** Returns a function that loads all data about remote access again. */
export function useRefreshSessions(): () => Promise<void> {
  const queryClient = useQueryClient()
  return () => queryClient.invalidateQueries({ queryKey: keyOf('remote-access') })
}

/** Returns the current time, and updates it every second while `isRunning`. */
export function useNow(isRunning: boolean): number {
  const [now, setNow] = useState(() => Date.now())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [isRunning])
  return now
}
