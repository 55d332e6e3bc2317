import type { Duplex } from 'node:stream'
import { Problem } from '@millwright/api/problem.ts'
import { StreamRefusal } from '@millwright/api/tunnel/stream-header.ts'
import { v7 } from 'uuid'
import { currentCaller } from '../../platform/access/current-caller.ts'
import type { Context } from '../../platform/service.ts'
import { decideHostKey } from './host-keys.ts'
import type { Recorders } from './recorder.ts'
import { endedTopic } from './session-report.ts'
import { endedAmong, findSession, type SessionRow } from './session-store.ts'
import type { SessionStreams } from './session-streams.ts'
import { hasWebEntry, insertWebEntry } from './ticket-store.ts'
import { redeem } from './tickets.ts'
import type { WebSession, WebSessions } from './web/web-session.ts'

type Parts = { streams: SessionStreams; recorders: Recorders }

/** The interval at which the process reads which web sessions have ended in other processes. */
const pollMs = 1_000

/** Returns the part of the service that the web proxy uses. */
export function webSessions(context: Context, { streams, recorders }: Parts): WebSessions {
  const { database } = context
  /** The tenants of the sessions that this process serves, by session. */
  const served = new Map<string, string>()
  const listeners: ((id: string) => void)[] = []
  const end = (id: string) => {
    served.delete(id)
    for (const listener of listeners) listener(id)
  }
  database.onCommit(({ topics }) => {
    for (const topic of topics) if (topic.startsWith(endedTopic)) end(topic.slice(endedTopic.length))
  })
  const timer = setInterval(() => {
    findEnded().catch((error: unknown) => context.log.warn({ error }, 'The ended web sessions could not be read'))
  }, pollMs).unref()
  context.stopping.addEventListener('abort', () => clearInterval(timer), { once: true })

  async function findEnded(): Promise<void> {
    for (const [tenantId, sessions] of Map.groupBy(served, ([, tenant]) => tenant)) {
      const ids = sessions.map(([id]) => id)
      for (const id of await database.read({ tenantId }, (handle) => endedAmong(handle, ids))) end(id)
    }
  }

  async function rowOf({ tenantId, id }: { tenantId: string; id: string }): Promise<SessionRow | undefined> {
    return database.lookup({ tenantId }, (handle) => findSession(handle, id))
  }

  return {
    async findSession(of) {
      const row = await rowOf(of)
      return row === undefined ? undefined : webSessionOf(of.tenantId, row)
    },

    async redeemTicket(id, ticket) {
      try {
        const { caller, row } = await redeem(context, {
          ticket,
          sessionId: id,
          request: { id: v7(), address: undefined },
        })
        return webSessionOf(caller.tenantId, row)
      } catch (error) {
        if (error instanceof Problem && error.code === 'unauthenticated') return undefined
        throw error
      }
    },

    async storeEntry({ tenantId, id }, { digest }) {
      const now = new Date().toISOString()
      await database.transaction({ tenantId }, (tx) => insertWebEntry(tx, { sessionId: id, hash: digest, now }))
    },

    hasEntry(id, { tenantId, digest }) {
      return database.lookup({ tenantId }, (handle) => hasWebEntry(handle, id, digest))
    },

    async openStream({ tenantId, id }): Promise<Duplex> {
      const row = await rowOf({ tenantId, id })
      if (row === undefined) throw sessionEnded()
      const caller = await currentCaller(context, tenantId, row)
      try {
        await streams.require(row, { caller, kind: 'tcp', isProxy: true })
        const stream = await streams.openStream(row, { kind: 'tcp' }, caller)
        served.set(id, tenantId)
        return stream
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        const { code, message } = error
        throw code === 'not_found' || code === 'conflict'
          ? sessionEnded()
          : new StreamRefusal({ code, detail: message })
      }
    },

    async acceptCertificate({ tenantId, id }, fingerprint) {
      const row = await rowOf({ tenantId, id })
      if (row === undefined) return false
      return (await decideHostKey(context, { tenantId }, { row, key: { algorithm: 'x509', fingerprint } })).isAccepted
    },

    logOf(session) {
      return recorders.of(session, session)
    },

    onEnd(listener) {
      listeners.push(listener)
    },
  }
}

function sessionEnded(): StreamRefusal {
  return new StreamRefusal({ code: 'session_ended', detail: 'The session has ended' })
}

function webSessionOf(tenantId: string, row: SessionRow): WebSession | undefined {
  const { id, state, service, address, port, assetName, recording, ending, endingDetail } = row
  if (service !== 'http' && service !== 'https') return undefined
  return {
    tenantId,
    id,
    state,
    service,
    address: address ?? '',
    port,
    assetName,
    recording,
    ending: ending ?? undefined,
    endingDetail: endingDetail ?? undefined,
  }
}
