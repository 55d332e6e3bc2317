import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { builtInWorkflows } from '@millwright/cloud/services/workflows/built-in.ts'
import fc from 'fast-check'
import { createLog } from '../log.ts'
import { temporaryFolder } from '../testing.ts'
import {
  activateWithinMs,
  type JournalEntry,
  type JournalStep,
  journalSteps,
  nextAction,
  nextSteps,
  UpdateJournal,
  type UpdateOutcome,
} from './update-journal.ts'

const log = createLog({ level: 'silent' })
const workflow = builtInWorkflows.get('artefact-update')

/** `CrashError` means that the simulated gateway was killed. */
class CrashError extends Error {}

/**
 * `Simulation` is a platform, a journal and a device, which survive the crashes of a gateway. Each step of the gateway can be
 * the last one before a crash.
 */
class Simulation {
  state = 'CREATED'
  entry: JournalEntry | undefined
  activations = 0
  isNew = false
  #nextCrash: () => boolean

  constructor(nextCrash: () => boolean) {
    this.#nextCrash = nextCrash
  }

  crashPoint(): void {
    if (this.#nextCrash()) throw new CrashError()
  }

  /** Records a step on disk. The gateway can be killed before and after the write. */
  record(step: JournalStep, fields: Partial<JournalEntry> = {}): void {
    assert.ok(nextSteps[this.entry?.step ?? 'none'].includes(step), `${this.entry?.step} > ${step}`)
    this.crashPoint()
    this.entry = { ...this.entry, ...fields, jobId: 'job', step, timestamp: new Date().toISOString() }
    this.crashPoint()
  }

  /** Moves the job at the platform. The response can be lost. */
  advance(state: string): string {
    this.crashPoint()
    const isAllowed = workflow?.transitions.some(
      ({ from, to, eligible }) => from === this.state && to === state && eligible === 'CLIENT',
    )
    assert.ok(isAllowed || this.state === state, `${this.state} > ${state}`)
    this.state = state
    this.crashPoint()
    return state
  }

  end(outcome: UpdateOutcome): void {
    if (this.entry?.outcome === undefined) this.record('ended', { outcome })
    this.advance(outcome.state)
  }

  /** Runs the gateway until it has no work, is killed, or ends the job. */
  run({ answers, activates }: { answers: boolean; activates: boolean }): void {
    for (;;) {
      const next = nextAction(this.state, this.entry, { nowMs: Date.now() })
      if (next === undefined) return
      if (this.state === 'CREATED') this.advance('PREPARING')
      switch (next.action) {
        case 'prepare':
          this.record('preparing')
          this.record('transferring')
          this.record('prepared')
          this.advance('PREPARED')
          return
        case 'report-prepared':
          this.advance('PREPARED')
          return
        case 'activate':
          this.record('requesting')
          this.advance('ACTIVATING')
          break
        case 'request':
          this.advance('ACTIVATING')
          break
        case 'call':
          this.record('calling')
          this.activations += 1
          this.isNew = activates
          this.crashPoint()
          if (answers) this.record('called', { answer: { isAccepted: activates } })
          this.advance('VERIFYING')
          break
        case 'verify':
          if (this.isNew) this.end({ state: 'ACTIVATED' })
          else this.end({ state: next.answer === undefined ? 'UNKNOWN' : 'FAILED' })
          return
        case 'cancel':
          this.end({ state: 'CANCELED' })
          return
        case 'report':
          this.end(next.outcome)
          return
      }
    }
  }
}

describe('the update journal', () => {
  test('leads to at most one activation and reports its actual result when the gateway is killed at any step', () => {
    const crashes = fc.array(fc.boolean(), { maxLength: 40 })
    const behaviour = fc.record({
      crashes,
      answers: fc.boolean(),
      activates: fc.boolean(),
      cancelsAt: fc.option(fc.constantFrom('PREPARING', 'PREPARED', 'ACTIVATE')),
    })
    fc.assert(
      fc.property(behaviour, ({ crashes: planned, answers, activates, cancelsAt }) => {
        const queue = [...planned]
        const simulation = new Simulation(() => queue.shift() ?? false)
        const final = ['ACTIVATED', 'FAILED', 'CANCELED', 'UNKNOWN']
        for (let runs = 0; !final.includes(simulation.state); runs++) {
          assert.ok(runs < 100, 'the job does not end')
          if (simulation.state === cancelsAt) simulation.state = 'CANCELING'
          else if (simulation.state === 'PREPARED') simulation.state = 'ACTIVATE'
          try {
            simulation.run({ answers, activates })
          } catch (error) {
            if (!(error instanceof CrashError)) throw error
          }
        }
        const { state, activations, isNew } = simulation
        assert.ok(activations <= 1)
        if (state === 'ACTIVATED') assert.ok(isNew)
        if (state === 'CANCELED') assert.equal(activations, 0)
        if (state === 'FAILED') assert.equal(isNew, false)
        if (isNew) assert.equal(state, 'ACTIVATED')
      }),
      { numRuns: 2_000 },
    )
  })

  test('never calls the activation of a job without the proof that it was not called', () => {
    const nowMs = Date.now()
    const timestamp = new Date(nowMs).toISOString()
    for (const step of [...journalSteps, undefined]) {
      const outcome = step === 'ended' ? { outcome: { state: 'UNKNOWN' as const } } : {}
      const entry = step && { jobId: 'job', step, timestamp, ...outcome }
      for (const { name } of workflow?.states ?? []) {
        const action = nextAction(name, entry, { nowMs })?.action
        if (action === 'call') assert.deepEqual([name, step], ['ACTIVATING', 'requesting'])
        if (step === 'calling' || step === 'called' || step === 'ended') assert.notEqual(action, 'activate')
      }
    }
    const old = { jobId: 'job', step: 'requesting' as const, timestamp }
    const late = nextAction('ACTIVATING', old, { nowMs: nowMs + activateWithinMs + 1_000 })
    assert.equal(late?.action === 'report' ? late.outcome.state : undefined, 'FAILED')
  })

  test('stores each step on disk, and refuses a step that cannot follow', async () => {
    const folder = temporaryFolder()
    const journal = await UpdateJournal.open({ folder, log })
    const job = crypto.randomUUID()
    await journal.record(job, 'requesting')
    await journal.record(job, 'calling')
    await assert.rejects(journal.record(job, 'calling'), /cannot follow/)
    await journal.record(job, 'called', { answer: { isAccepted: true } })
    await journal.record(job, 'ended', { outcome: { state: 'ACTIVATED', result: { asset: { name: 'Pump' } } } })
    writeFileSync(join(folder, 'other.json'), '{"step": "ca')
    const reopened = await UpdateJournal.open({ folder, log })
    assert.equal(reopened.find(job)?.outcome?.state, 'ACTIVATED')
    await reopened.confirm(job)
    const [file, ...others] = readdirSync(folder)
    assert.deepEqual([file, others], [`${job}.json`, []])
    assert.deepEqual((await UpdateJournal.open({ folder, log })).find(job)?.outcome, { state: 'ACTIVATED' })
    await assert.rejects(journal.record('../job', 'preparing'), /not valid/)
  })
})
