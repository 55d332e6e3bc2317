import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Problem } from '@millwright/api/problem.ts'
import { builtInWorkflows } from './built-in.ts'
import { phaseOf } from './phase.ts'
import { directUpdate, machine } from './testing.ts'
import { awaitsClient, firstState, moved, stateWhenTaken } from './transition.ts'

const discovery = builtInWorkflows.get('discovery') ?? machine()

test('a job is moved along the transitions of who moves it', () => {
  assert.equal(moved(discovery, { from: 'RUNNING', to: 'FINISHED', as: 'CLIENT' }), 'FINISHED')
  assert.equal(moved(discovery, { from: 'RUNNING', to: 'CANCELING', as: 'WFX' }), 'CANCELING')
  for (const as of ['CLIENT', 'WFX'] as const)
    assert.equal(moved(discovery, { from: 'CANCELING', to: 'CANCELED', as }), 'CANCELED')
})

test('a move that does not exist, or is for the other side, is refused with what there is', () => {
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
    /no transition from CREATED to FINISHED; for CLIENT .* RUNNING/,
  )
  assert.match(refusal('RUNNING', 'CANCELING', 'CLIENT'), /not for CLIENT/)
  assert.match(refusal('FINISHED', 'RUNNING', 'CLIENT'), /none for CLIENT at all/)
})

test('staying where it is needs no transition', () => {
  for (const state of ['CREATED', 'RUNNING', 'FINISHED'])
    assert.equal(moved(discovery, { from: state, to: state, as: 'CLIENT' }), state)
})

test('what happens at once is followed as far as it goes, from the beginning too', () => {
  assert.equal(moved(directUpdate, { from: 'INSTALLING', to: 'INSTALLED', as: 'CLIENT' }), 'ACTIVATE')
  const chain = machine('a => b', 'b => c', 'c > d', 'd => e')
  assert.equal(firstState(chain), 'c')
  assert.equal(moved(chain, { from: 'c', to: 'd', as: 'CLIENT' }), 'e')
})

test('a client has something to do where a transition is for it', () => {
  assert.equal(awaitsClient(discovery, 'CREATED'), true)
  assert.equal(awaitsClient(discovery, 'CANCELING'), true)
  assert.equal(awaitsClient(discovery, 'FINISHED'), false)
  const update = builtInWorkflows.get('artefact-update') ?? machine()
  assert.equal(awaitsClient(update, 'PREPARED'), false)
  assert.equal(awaitsClient(machine('a > a', 'a ~> b'), 'a'), false)
})

test('taking a new job begins it, and changes nothing about one that was begun', () => {
  assert.equal(stateWhenTaken(discovery, 'CREATED'), 'RUNNING')
  assert.equal(stateWhenTaken(discovery, 'CANCELING'), 'CANCELING')
  assert.equal(stateWhenTaken(directUpdate, 'INSTALL'), 'INSTALLING')
  assert.equal(stateWhenTaken(machine('a > failed', 'a > done'), 'a'), 'a')
})

test('the phase of a job is told by where it is: first, on its way, or at an end of some name', () => {
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
