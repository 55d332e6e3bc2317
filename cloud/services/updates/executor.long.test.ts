import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { randomCases } from '@millwright/api/test-effort.ts'
import type { Campaign } from '@millwright/api/updates.ts'
import fc from 'fast-check'
import type { Context } from '../../platform/service.ts'
import { type TestCaller, type TestHub, testHub } from '../../platform/testing/hub.ts'
import { advanceCampaign } from './executor.ts'
import {
  advance,
  createArtefact,
  type HeldJob,
  leaseUpdate,
  listDevices,
  newPlant,
  readCampaign,
  startCampaign,
  tick,
  type UpdatePlant,
  workUntil,
} from './testing.ts'

/**
 * Campaigns under random interleavings of ticks, crashes of the executor, reports and crashes of the gateway, and actions of
 * users. The fake gateway activates a device only after the platform accepted `ACTIVATING`, like a real one.
 */

class Killed extends Error {}

/** Returns a context whose effects fail after a number of effects, as if the process was killed at this point. */
function dyingContext(context: Context, effects: number): Context {
  let left = effects
  const counted = <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (left <= 0) return Promise.reject(new Killed('The process was killed'))
    left -= 1
    return work()
  }
  const dying = <Target extends object>(target: Target, isEffect: (name: PropertyKey) => boolean): Target =>
    new Proxy(target, {
      get(own, name) {
        const value: unknown = Reflect.get(own, name, own)
        if (typeof value !== 'function') return value
        const call = (...values: unknown[]) => Reflect.apply(value, own, values)
        return isEffect(name) ? (...values: unknown[]) => counted(() => call(...values)) : call
      },
    })
  return {
    ...context,
    database: dying(context.database, (name) => name === 'transaction'),
    peers: (contract, caller) => dying(context.peers(contract, caller), () => true),
  }
}

type Act =
  | { kind: 'tick' }
  | { kind: 'die'; effects: number }
  | { kind: 'work'; pick: number; end: 'ACTIVATED' | 'FAILED' | 'UNKNOWN'; isNoteLost: boolean }
  | { kind: 'abandon'; pick: number }
  | { kind: 'pause' | 'resume' | 'cancel' | 'retry' | 'retry unknown' }

const acts: fc.Arbitrary<Act> = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ kind: 'tick' } as const) },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('die' as const), effects: fc.nat({ max: 12 }) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constant('work' as const),
      pick: fc.nat({ max: 3 }),
      end: fc.constantFrom('ACTIVATED', 'ACTIVATED', 'ACTIVATED', 'FAILED', 'UNKNOWN'),
      isNoteLost: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('abandon' as const), pick: fc.nat({ max: 3 }) }) },
  { weight: 4, arbitrary: fc.constantFrom<Act>({ kind: 'pause' }, { kind: 'resume' }, { kind: 'retry' }) },
  { weight: 1, arbitrary: fc.constantFrom<Act>({ kind: 'cancel' }, { kind: 'retry unknown' }) },
)

const devices = 3
describe('executor', () => {
  let hub: TestHub
  let admin: TestCaller
  let artefactId: string

  before(async () => {
    hub = await testHub()
    admin = await hub.as('administrator')
    artefactId = await createArtefact(hub, admin)
  })

  after(() => hub[Symbol.asyncDispose]())

  const plantOf = (devices: number) => newPlant(hub, admin, { devices })

  /** Continues a campaign in a process that is killed after some effects. */
  async function dieAfter(id: string, effects: number): Promise<void> {
    const context = dyingContext(hub.contextOf('updates'), effects)
    const { signal } = new AbortController()
    await advanceCampaign(context, { tenantId: hub.tenant.tenantId, id, signal }).catch((error: unknown) =>
      assert.ok(error instanceof Killed, String(error)),
    )
  }

  test('completes a campaign when the executor is killed after any number of writes', async () => {
    const plant = await plantOf(2)
    const { id } = await startCampaign(admin, { artefactId, assetIds: plant.assetIds })
    const activated: string[] = []
    for (let effects = 0; (await readCampaign(admin, id)).state !== 'finished'; effects = (effects + 1) % 15) {
      await dieAfter(id, effects)
      const held = await leaseUpdate(plant.gateway)
      if (held?.state === 'PREPARING') await advance(plant.gateway, held, 'PREPARED')
      if (held?.state === 'ACTIVATE') {
        await advance(plant.gateway, held, 'ACTIVATING')
        activated.push(held.assetId)
        await advance(plant.gateway, held, 'ACTIVATED', { result: { version: '2.0.0' } })
      }
    }
    assert.deepEqual(activated.toSorted(), plant.assetIds.toSorted())
  })

  test('stores for every device the result of its last activation, and requests at most one activation per attempt', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(acts, { minLength: 15, maxLength: 40 }), async (list) => {
        const plant = await plantOf(devices)
        const { id } = await startCampaign(admin, {
          artefactId,
          assetIds: plant.assetIds,
          stopOnFailurePercent: 50,
          concurrentDevices: 2,
          waves: [{ count: 2 }],
        })
        const model = new Model(plant, id)
        for (const act of list) {
          await model.act(act)
          await model.checkJobs()
        }
        await model.complete()
        await model.checkDevices()
      }),
      { numRuns: randomCases(4) },
    )
  })

  /** The devices and the gateway of one campaign. */
  class Model {
    readonly #plant: UpdatePlant
    readonly #id: string
    /** The jobs that the gateway holds. */
    #held: HeldJob[] = []
    /** The activated jobs of each asset, in order, with the end that the device had. */
    readonly #activations = new Map<string, { jobId: string; end: string }[]>()

    constructor(plant: UpdatePlant, id: string) {
      this.#plant = plant
      this.#id = id
    }

    async act(act: Act): Promise<void> {
      if (act.kind === 'tick') await tick(hub)
      else if (act.kind === 'die') await dieAfter(this.#id, act.effects)
      else if (act.kind === 'work') await this.#work(act)
      else if (act.kind === 'abandon') await this.#abandon(act.pick)
      else await this.#change(act.kind)
    }

    async #work({ pick, end, isNoteLost }: Extract<Act, { kind: 'work' }>): Promise<void> {
      const taken = await leaseUpdate(this.#plant.gateway)
      if (taken !== undefined) this.#held.push(taken)
      const held = this.#held[pick % Math.max(1, this.#held.length)]
      if (held === undefined) return
      const next = nextState(held.state, end)
      if (next === 'ACTIVATING') {
        const state = await this.#report(held, next, isNoteLost)
        if (state === 'ACTIVATING') this.#activationsOf(held).push({ jobId: held.jobId, end: 'UNKNOWN' })
        return
      }
      // The device activates the artefact before the gateway reports the end.
      const activation = this.#activationsOf(held).findLast(({ jobId }) => jobId === held.jobId)
      if (activation !== undefined) activation.end = next
      await this.#report(held, next, isNoteLost)
    }

    #activationsOf({ assetId }: HeldJob) {
      const list = this.#activations.get(assetId) ?? []
      this.#activations.set(assetId, list)
      return list
    }

    /** Reports a state. If the note is lost, only the job has the state, and the update hub does not receive it. */
    async #report(held: HeldJob, state: string, isNoteLost: boolean): Promise<string | undefined> {
      const { gateway } = this.#plant
      const result = state === 'ACTIVATED' ? { version: '2.0.0' } : {}
      const message = state === 'FAILED' || state === 'UNKNOWN' ? { message: `reported ${state}` } : {}
      try {
        const after = isNoteLost
          ? (
              await gateway.workflows.putJobStatus({
                params: { id: held.jobId },
                body: { state, context: result, ...message },
              })
            ).state
          : await advance(gateway, held, state, { result, ...message })
        held.state = after
        if (['PREPARED', 'ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN'].includes(after)) this.#drop(held)
        return after
      } catch (error) {
        // The platform canceled the job, or another lease holds it. The gateway leases it again.
        const { code } = error as { code: string }
        assert.ok(['invalid_transition', 'lease_lost', 'not_found'].includes(code), String(error))
        await this.#expire(held)
        return undefined
      }
    }

    #drop(held: HeldJob): void {
      this.#held = this.#held.filter((one) => one !== held)
    }

    /** The gateway is killed while it holds a job. Its lease expires. */
    async #abandon(pick: number): Promise<void> {
      const held = this.#held[pick % Math.max(1, this.#held.length)]
      if (held !== undefined) await this.#expire(held)
    }

    async #expire(held: HeldJob): Promise<void> {
      this.#drop(held)
      await hub.asOwner((owner) =>
        owner.query(
          `update workflow_jobs set lease_until = now() - interval '1 second'
           where tenant_id = $1 and id = $2 and lease_until is not null`,
          [hub.tenant.tenantId, held.jobId],
        ),
      )
    }

    async #change(kind: 'pause' | 'resume' | 'cancel' | 'retry' | 'retry unknown'): Promise<void> {
      const params = { id: this.#id }
      const unknown = async () =>
        (await listDevices(admin, this.#id)).filter(({ state }) => state === 'unknown').map(({ assetId }) => assetId)
      const changes: Record<typeof kind, () => Promise<unknown>> = {
        pause: () => admin.updates.pauseCampaign({ params }),
        resume: () => admin.updates.resumeCampaign({ params }),
        cancel: () => admin.updates.cancelCampaign({ params }),
        retry: () => admin.updates.retryCampaign({ params }),
        'retry unknown': async () => {
          const assetIds = await unknown()
          if (assetIds.length > 0) await admin.updates.retryCampaign({ params, body: { data: { assetIds } } })
        },
      }
      await changes[kind]().catch((error: { code: string }) => assert.equal(error.code, 'conflict', String(error)))
    }

    /** At any time, at most one job of an asset is open. */
    async checkJobs(): Promise<void> {
      for (const assetId of this.#plant.assetIds) {
        const query = { tag: `asset/${assetId}`, workflow: 'artefact-update', limit: 100 }
        const { content } = await admin.workflows.listJobs({ query })
        const open = content.filter(
          ({ status }) => !['ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN'].includes(status.state),
        )
        assert.ok(open.length <= 1, `${open.length} open jobs of one device`)
      }
    }

    /** Completes the campaign: expires all leases, resumes, and reports success for the remaining jobs. */
    async complete(): Promise<void> {
      for (const held of [...this.#held]) await this.#expire(held)
      const isOver = ({ counts }: Campaign) =>
        counts.succeeded + counts.failed + counts.unknown + counts.skipped + counts.canceled === devices
      await tick(hub)
      const finish = async () =>
        workUntil(
          this.#plant,
          this.#id,
          (campaign) => isOver(campaign) || campaign.state === 'stopped',
          (held) => {
            const known = this.#activationsOf(held).findLast(({ jobId }) => jobId === held.jobId)
            if (known === undefined) this.#activationsOf(held).push({ jobId: held.jobId, end: 'ACTIVATED' })
            else if (known.end === 'FAILED' || known.end === 'UNKNOWN')
              return { state: known.end, message: `reported ${known.end}` }
            else known.end = 'ACTIVATED'
            return undefined
          },
        )
      for (let attempt = 0; attempt < 10 && !isOver(await readCampaign(admin, this.#id)); attempt++) {
        await this.#change('resume')
        await finish()
      }
    }

    /** Every device has the state that its last activation had, and was not activated more often than attempted. */
    async checkDevices(): Promise<void> {
      const listed = await listDevices(admin, this.#id)
      assert.equal(listed.length, devices)
      for (const { assetId, state, attempt, jobId } of listed) {
        const activations = this.#activations.get(assetId) ?? []
        const jobIds = activations.map((one) => one.jobId)
        assert.equal(new Set(jobIds).size, jobIds.length, 'a job was activated twice')
        assert.ok(activations.length <= attempt, `${activations.length} activations in ${attempt} attempts`)
        const last = activations.findLast((one) => one.jobId === jobId)
        const expected = { ACTIVATED: 'succeeded', FAILED: 'failed', UNKNOWN: 'unknown' } as const
        if (last !== undefined) assert.equal(state, expected[last.end as keyof typeof expected])
        else assert.ok(state === 'failed' || state === 'canceled', `${state} without an activation`)
      }
    }
  }
})

/** Returns the next state that the gateway reports. */
function nextState(state: string, end: 'ACTIVATED' | 'FAILED' | 'UNKNOWN'): string {
  if (state === 'PREPARING') return end === 'FAILED' ? 'FAILED' : 'PREPARED'
  if (state === 'ACTIVATE') return 'ACTIVATING'
  if (state === 'CANCELING') return 'CANCELED'
  return end
}
