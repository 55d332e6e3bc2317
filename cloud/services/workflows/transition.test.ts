import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { builtInWorkflows } from './built-in.ts'
import { phaseOf } from './phase.ts'
import { directUpdate, machine } from './testing.ts'
import { awaitsClient, firstState, moved, stateWhenTaken } from './transition.ts'

const discovery = builtInWorkflows.get('discovery') ?? machine()

test('moves a job along the transitions that are available to the client or to the engine', () => {
  assert.equal(moved(discovery, { from: 'RUNNING', to: 'FINISHED', as: 'CLIENT' }), 'FINISHED')
  assert.equal(moved(discovery, { from: 'RUNNING', to: 'CANCELING', as: 'WFX' }), 'CANCELING')
  for (const as of ['CLIENT', 'WFX'] as const)
    assert.equal(moved(discovery, { from: 'CANCELING', to: 'CANCELED', as }), 'CANCELED')
})

test('refuses a transition that does not exist or is not available to the caller, and lists the available ones', () => {
  const refusal = (from: string, to: string, as: 'CLIENT' | 'WFX') => {
    try {
      return moved(discovery, { from, to, as })
    } catch (problem) {
      assert.equal((problem as Problem).code, 'invalid_transition')
      return (problem as Problem).message
    }
  }
  assert.match(
    refusal('CREATED', 'FINISHED', 'CLIENT'),
    /no transition from CREATED to FINISHED. Available to CLIENT: .*RUNNING/,
  )
  assert.match(refusal('RUNNING', 'CANCELING', 'CLIENT'), /not available to CLIENT/)
  assert.match(refusal('FINISHED', 'RUNNING', 'CLIENT'), /No transition is available to CLIENT/)
})

test('accepts a move of a job to its current state without a transition', () => {
  for (const state of ['CREATED', 'RUNNING', 'FINISHED'])
    assert.equal(moved(discovery, { from: state, to: state, as: 'CLIENT' }), state)
})

test('follows all consecutive immediate transitions, including those from the initial state', () => {
  assert.equal(moved(directUpdate, { from: 'INSTALLING', to: 'INSTALLED', as: 'CLIENT' }), 'ACTIVATE')
  const chain = machine('a => b', 'b => c', 'c > d', 'd => e')
  assert.equal(firstState(chain), 'c')
  assert.equal(moved(chain, { from: 'c', to: 'd', as: 'CLIENT' }), 'e')
})

test('reports that a job waits for the client in states with a transition for the client', () => {
  assert.equal(awaitsClient(discovery, 'CREATED'), true)
  assert.equal(awaitsClient(discovery, 'CANCELING'), true)
  assert.equal(awaitsClient(discovery, 'FINISHED'), false)
  const update = builtInWorkflows.get('artefact-update') ?? machine()
  assert.equal(awaitsClient(update, 'PREPARED'), false)
  assert.equal(awaitsClient(machine('a > a', 'a ~> b'), 'a'), false)
})

test('starts a new job when an agent takes it, and does not change the state of a started job', () => {
  assert.equal(stateWhenTaken(discovery, 'CREATED'), 'RUNNING')
  assert.equal(stateWhenTaken(discovery, 'CANCELING'), 'CANCELING')
  assert.equal(stateWhenTaken(directUpdate, 'INSTALL'), 'INSTALLING')
  assert.equal(stateWhenTaken(machine('a > failed', 'a > done'), 'a'), 'a')
})

test('derives the phase of a job from its state: waiting, running, finished, failed or canceled', () => {
  const phases = (workflow: typeof discovery) =>
    Object.fromEntries(workflow.states.map(({ name }) => [name, phaseOf(workflow, name)]))
  assert.deepEqual(phases(discovery), {
    CREATED: 'waiting',
    RUNNING: 'running',
    CANCELING: 'running',
    FINISHED: 'finished',
    FAILED: 'failed',
    CANCELED: 'canceled',
  })
  assert.deepEqual(phases(directUpdate), {
    INSTALL: 'waiting',
    INSTALLING: 'running',
    TERMINATED: 'failed',
    INSTALLED: 'running',
    ACTIVATE: 'running',
    ACTIVATING: 'running',
    ACTIVATED: 'finished',
  })
  const grouped = { ...machine('a > b', 'a > c'), groups: [{ name: 'FAILED', states: ['b'] }] }
  assert.deepEqual(phases(grouped), { a: 'waiting', b: 'failed', c: 'finished' })
  assert.equal(phaseOf(machine('a => b', 'b > c'), 'b'), 'waiting')
  assert.equal(phaseOf({ name: 'one', states: [{ name: 'a' }], transitions: [] }, 'a'), 'finished')
})
