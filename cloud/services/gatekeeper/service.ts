import type { BuiltInWorkflowName } from '@millwright/api/built-in-workflows.ts'
import { discovery } from '@millwright/api/discovery.ts'
import { gatekeeper } from '@millwright/api/gatekeeper.ts'
import { onboarding } from '@millwright/api/onboarding.ts'
import { Problem } from '@millwright/api/problem.ts'
import type { SignedReceipt } from '@millwright/api/receipt.ts'
import { updates } from '@millwright/api/updates.ts'
import { type Workflow, type WorkflowJob, workflowLimits, workflows } from '@millwright/api/workflows.ts'
import type { Caller } from '../../platform/access/caller.ts'
import { systemCaller } from '../../platform/access/system.ts'
import { answer, type Context, type Handlers, service } from '../../platform/service.ts'
import { credentialHandlers } from './credentials.ts'
import { ownJob, requireGateway } from './gateway.ts'
import { monitoringHandlers } from './monitoring.ts'
import { GatewayPresence } from './presence.ts'

export const gatekeeperService = service({
  contract: gatekeeper,
  handlers: gatekeeperHandlers,
})

const endings = { FINISHED: 'finished', FAILED: 'failed', CANCELED: 'canceled' } as const

/**
 * The API for gateways. Each handler requires that the caller is a gateway. The principal id of a gateway is the client
 * id of its jobs, and the token contains the tenant. A gateway therefore cannot access jobs of another gateway or
 * tenant.
 */
function gatekeeperHandlers(context: Context): Handlers<typeof gatekeeper> {
  const presence = new GatewayPresence((caller, { version, host } = {}) =>
    context.peers(onboarding, systemCaller(caller)).recordSeen({
      params: { id: caller.principal.id },
      body: { data: { ...(version !== undefined && { version }), ...(host !== undefined && { host }) } },
    }),
  )
  const engine = (caller: Caller) => context.peers(workflows, systemCaller(caller))
  const discoveries = (caller: Caller) => context.peers(discovery, systemCaller(caller))

  /** Reports the state of an update or a retrieval to the update hub. */
  const noteUpdate = async (caller: Caller, { id, workflow, status }: ReportedJob): Promise<void> => {
    if (!updateWorkflows.has(workflow.name)) return
    const { state, progress, message, context: result } = status
    const note = {
      state,
      ...(progress === undefined ? {} : { progress }),
      ...(message === undefined ? {} : { message }),
      ...(result === undefined ? {} : { result }),
    }
    await context.peers(updates, systemCaller(caller)).noteJob({ params: { jobId: id }, body: { data: note } })
  }

  /** Reports progress to the update hub. The hub reads the jobs of running updates itself, so the report can be lost. */
  const noteUpdateProgress = async (caller: Caller, job: ReportedJob): Promise<void> => {
    await noteUpdate(caller, job).catch((error: unknown) =>
      context.log.warn({ error, job: job.id }, 'The progress of an update could not be reported'),
    )
  }

  return {
    async leaseJob({ body: { data } }, caller) {
      requireGateway(caller)
      await presence.note(caller)
      const { workflows: names, waitSeconds = workflowLimits.waitSeconds, activeJobs = [] } = data
      const taken = await engine(caller).takeJob({
        body: {
          data: {
            clientId: caller.principal.id,
            workflows: names,
            waitSeconds,
            leaseSeconds: workflowLimits.leaseSeconds.default,
            ...(activeJobs.length > 0 && { activeJobs }),
          },
        },
      })
      if (taken.data === null) return answer(204, undefined)
      const { job, lease } = taken.data
      const runId = runOf(job)
      const continued = activeJobs.includes(job.id) ? { isContinued: true } : {}
      if (runId !== undefined)
        await discoveries(caller).noteRun({
          params: { id: runId },
          body: { data: { gatewayId: caller.principal.id, jobId: job.id, lease: lease.id, ...continued } },
        })
      await noteUpdateProgress(caller, job)
      return { data: taken.data }
    },

    async renewLease({ params: { id }, body: { data } }, caller) {
      requireGateway(caller)
      await presence.note(caller)
      const { jobId, waitSeconds = 0, phase, ...note } = data
      const renewed = await engine(caller).renewLease({
        params: { id },
        body: {
          data: {
            jobId,
            clientId: caller.principal.id,
            ...note,
            ...(phase === undefined ? {} : { context: { phase } }),
          },
        },
      })
      if (note.progress !== undefined || note.message !== undefined || phase !== undefined) {
        const job = await ownJob(context, caller, jobId)
        const runId = runOf(job)
        await noteUpdateProgress(caller, job)
        if (runId !== undefined)
          await discoveries(caller).noteRun({
            params: { id: runId },
            body: { data: { gatewayId: caller.principal.id, jobId, ...note } },
          })
      }
      const { lease, state } = renewed.data
      if (waitSeconds === 0 || isCanceled(state)) return { data: { lease, cancelRequested: isCanceled(state) } }
      const { job } = await engine(caller).awaitJob({ params: { id: jobId }, query: { waitSeconds, unlike: state } })
      return { data: { lease, cancelRequested: isCanceled(job.status.state) } }
    },

    async advanceJob({ params: { id }, body: { data } }, caller) {
      requireGateway(caller)
      await presence.note(caller)
      const { jobId, state, message, progress, result } = data
      const job = await ownJob(context, caller, jobId)
      if (runOf(job) !== undefined)
        throw new Problem('invalid_transition', `Job ${jobId} is a discovery. Use POST /gatekeeper/v1/leases/{id}/end`)
      try {
        const moved = await engine(caller).moveJob({
          params: { id: jobId },
          body: {
            data: {
              state,
              as: 'CLIENT',
              lease: id,
              ...(message === undefined ? {} : { message }),
              ...(progress === undefined ? {} : { progress }),
              ...(result === undefined ? {} : { context: result }),
            },
          },
        })
        await noteUpdate(caller, moved)
        return { data: { state: moved.status.state } }
      } catch (error) {
        if (!(error instanceof Problem) || error.code !== 'invalid_transition') throw error
        const current = await ownJob(context, caller, jobId)
        if (!platformMoved(current.workflow, state, current.status.state)) throw error
        await noteUpdate(caller, current)
        return { data: { state: current.status.state } }
      }
    },

    /**
     * Ends a job if the gateway holds its lease. If the discovery service cannot be notified, the request fails and the
     * gateway repeats it.
     */
    async endJob({ params: { id }, body: { data } }, caller) {
      requireGateway(caller)
      const { jobId, state, message, result } = data
      const runId = runOf(await ownJob(context, caller, jobId))
      const moved = await engine(caller).moveJob({
        params: { id: jobId },
        body: {
          data: {
            state,
            as: 'CLIENT',
            lease: id,
            ...(message === undefined ? {} : { message }),
            ...(state === 'FINISHED' ? { progress: 100 } : {}),
            ...(result === undefined ? {} : { context: result }),
          },
        },
      })
      if (runId !== undefined)
        await discoveries(caller).endRun({
          params: { id: runId },
          body: {
            data: {
              gatewayId: caller.principal.id,
              state: endings[state],
              ...(message === undefined ? {} : { message }),
            },
          },
        })
      await noteUpdate(caller, moved)
      return { data: { state: moved.status.state } }
    },

    async uploadFound({ params: { id }, body: { data } }, caller) {
      requireGateway(caller)
      await presence.note(caller)
      const runId = runOf(await ownJob(context, caller, id))
      if (runId === undefined) throw new Problem('not_found', `Job ${id} is not a discovery job`)
      const accepted = await discoveries(caller).recordUpload({
        params: { id: runId },
        body: { data: { gatewayId: caller.principal.id, jobId: id, ...data } },
      })
      return answer(202, accepted)
    },

    async uploadReceipt({ params: { id }, body: { data } }, caller) {
      requireGateway(caller)
      await presence.note(caller)
      const runId = await runOfReceipt(context, caller, { jobId: id, receipt: data.receipt })
      if (runId === undefined) throw new Problem('not_found', `Job ${id} is not a discovery job`)
      await discoveries(caller).recordReceipt({
        params: { id: runId },
        body: { data: { gatewayId: caller.principal.id, jobId: id, ...data } },
      })
      return answer(204, undefined)
    },

    ...credentialHandlers(context),
    ...monitoringHandlers(context, presence),

    async reportLinks({ body: { data } }, caller) {
      requireGateway(caller)
      const { host, ...report } = data
      await presence.note(caller, { version: data.gatewayVersion, host })
      return discoveries(caller).recordLinks({ params: { gatewayId: caller.principal.id }, body: { data: report } })
    },
  }
}

type ReportedJob = Pick<WorkflowJob, 'id' | 'workflow' | 'status'>

/** The workflows whose jobs the update hub follows. */
const updateWorkflows: ReadonlySet<string> = new Set<BuiltInWorkflowName>(['artefact-update', 'artefact-retrieval'])

/**
 * Returns whether the platform alone can move a job from one state to another. If so, the gateway that reports the first
 * state repeats a report, or the platform requested a cancellation at the same time.
 */
function platformMoved({ transitions }: Workflow, from: string, to: string): boolean {
  const reached = new Set([from])
  for (const state of reached)
    for (const transition of transitions)
      if (transition.from === state && transition.eligible === 'WFX') reached.add(transition.to)
  return from !== to && reached.has(to)
}

function isCanceled(state: string): boolean {
  return state === 'CANCELING' || state === 'CANCELED'
}

/**
 * Returns the id of the run of a receipt. The run of a deleted job is the one that the receipt names, so that a user cannot
 * remove a receipt by deleting the job. The discovery service checks that the lease was issued for this run and job.
 */
async function runOfReceipt(
  context: Context,
  caller: Caller,
  { jobId, receipt }: { jobId: string; receipt: SignedReceipt },
): Promise<string | undefined> {
  try {
    return runOf(await ownJob(context, caller, jobId))
  } catch (error) {
    if (error instanceof Problem && error.code === 'not_found') return receipt.runId
    throw error
  }
}

/** Returns the id of the discovery run of a job. Returns `undefined` if the job is not a discovery job. */
function runOf({ workflow, definition }: WorkflowJob): string | undefined {
  const { runId } = definition
  return workflow.name === 'discovery' && typeof runId === 'string' ? runId : undefined
}
