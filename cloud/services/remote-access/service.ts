import { remoteAccess } from '@millwright/api/remote-access.ts'
import { type Context, type Handlers, service } from '../../platform/service.ts'
import { approvalHandlers } from './approvals.ts'
import { gatewayHandlers } from './gateway-operations.ts'
import { hostKeyHandlers } from './host-keys.ts'
import { policyHandlers } from './policies.ts'
import { Recorders } from './recorder.ts'
import { sealedParts } from './recording-store.ts'
import { recordingHandlers } from './recordings.ts'
import { SessionCloser } from './session-closer.ts'
import { SessionConnector } from './session-connector.ts'
import { SessionStreams } from './session-streams.ts'
import { sessionTasks } from './session-task.ts'
import { sessionHandlers } from './sessions.ts'
import { socketHandlers } from './sockets.ts'
import { switchHandlers } from './switches.ts'
import { targetHandlers } from './targets.ts'
import { redeem, ticketHandlers } from './tickets.ts'
import { Tunnels } from './tunnels.ts'
import { WebHost } from './web/web-host.ts'
import { WebProxy } from './web/web-proxy.ts'
import { webSessions } from './web-sessions.ts'

/** The parts of the service that hold connections. A process has one of each. */
function createParts(context: Context) {
  const tunnels = new Tunnels(context)
  const streams = new SessionStreams(context, tunnels)
  return {
    tunnels,
    streams,
    connector: new SessionConnector(context, streams),
    closer: new SessionCloser(context),
    recorders: new Recorders(context),
  }
}

const partsByContext = new WeakMap<Context, ReturnType<typeof createParts>>()

function partsOf(context: Context): ReturnType<typeof createParts> {
  const parts = partsByContext.get(context) ?? createParts(context)
  partsByContext.set(context, parts)
  return parts
}

/** Connections to assets through their gateways: sessions, approvals, tunnels, streams and recordings. */
export const remoteAccessService = service({
  contract: remoteAccess,
  migrations: { module: 'remote-access', folder: new URL('./migrations/', import.meta.url) },
  handlers(context): Handlers<typeof remoteAccess> {
    const { connector, streams } = partsOf(context)
    return {
      ...sessionHandlers(context, connector),
      ...approvalHandlers(context),
      ...ticketHandlers(context),
      ...recordingHandlers(context),
      ...targetHandlers(context),
      ...policyHandlers(context),
      ...switchHandlers(context),
      ...hostKeyHandlers(context),
      ...gatewayHandlers(context, streams),
    }
  },
  sockets: (context) => socketHandlers(context, partsOf(context)),
  ticketCaller:
    (context) =>
    async ({ ticket, params, request }) =>
      (await redeem(context, { ticket, sessionId: params.id ?? '', request })).caller,
  hosts: (context) =>
    new WebProxy({
      host: new WebHost(context.settings),
      sessions: webSessions(context, partsOf(context)),
      baseUrl: () => context.settings.baseUrl,
      log: context.log,
      stopping: context.stopping,
    }),
  tasks: (context) => sessionTasks(context, partsOf(context)),
  sealed: [sealedParts],
})
