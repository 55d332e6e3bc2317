import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Problem } from '@millwright/api/problem.ts'
import type { Workflow } from '@millwright/api/workflows.ts'
import fc from 'fast-check'
import { builtInWorkflows } from './built-in.ts'
import { directUpdate, machine } from './testing.ts'
import { completed, groupOf, initialState, isFinal, requireValid } from './workflow.ts'

const invalid: [string, Workflow, RegExp][] = [
  ['two initial states', machine('a > c', 'b > c'), /exactly one initial state, but has 2: a, b/],
  ['a cycle', machine('a > b', 'b > c', 'c > b'), /the workflow contains a cycle: b → c → b/],
  ['a cycle and no initial state', machine('a > b', 'b > a'), /the workflow contains a cycle: a → b → a/],
  [
    'two immediate transitions from one state',
    machine('a => b', 'a => c'),
    /more than one transition from a is IMMEDIATE/,
  ],
  [
    'an immediate transition to the same state',
    machine('a > b', 'b => b'),
    /the IMMEDIATE transition of b leads to itself/,
  ],
  ['a duplicate transition', machine('a > b', 'a > b'), /the transition a → b for CLIENT is defined twice/],
  [
    'a transition with an explicit default that equals another transition',
    { ...machine('a ~> b'), transitions: [...machine('a ~> b').transitions, { from: 'a', to: 'b', eligible: 'WFX' }] },
    /the transition a → b for WFX is defined twice/,
  ],
  [
    'a duplicate state',
    { ...machine('a > b'), states: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] },
    /the state a is defined twice/,
  ],
  [
    'a transition to an unknown state',
    { ...machine('a > b'), states: [{ name: 'a' }] },
    /a transition contains b, which is not a state/,
  ],
  [
    'a group of unknown states',
    { ...machine('a > b'), groups: [{ name: 'G', states: ['x'] }] },
    /the group G contains x, which is not a state/,
  ],
  [
    'a duplicate group',
    {
      ...machine('a > b'),
      groups: [
        { name: 'G', states: ['a'] },
        { name: 'G', states: ['b'] },
      ],
    },
    /the group G is defined twice/,
  ],
  [
    'a state in two groups',
    {
      ...machine('a > b'),
      groups: [
        { name: 'G', states: ['a', 'b'] },
        { name: 'H', states: ['b'] },
      ],
    },
    /the state b is in two groups/,
  ],
]

for (const [what, workflow, expected] of invalid) {
  test(`refuses a workflow with ${what}, and reports the fault`, () => {
    assert.throws(
      () => requireValid(workflow),
      (problem) => problem instanceof Problem && problem.code === 'invalid_workflow' && expected.test(problem.message),
    )
  })
}

test('reports all faults of a workflow with their JSON pointers in one error', () => {
  const workflow = { ...machine('a > b', 'a > b', 'a => b', 'a => c'), name: 'x' }
  assert.throws(
    () => requireValid(workflow),
    (problem) => (problem as Problem).errors?.map(({ pointer }) => pointer).join() === '/transitions/1,/transitions',
  )
})

test('accepts a workflow with a single state, a self-transition or a transition for both client and engine', () => {
  for (const workflow of [
    { name: 'one', states: [{ name: 'a' }], transitions: [] },
    machine('a > b', 'b > b', 'b > c', 'b ~> c'),
    directUpdate,
    ...builtInWorkflows.values(),
  ])
    requireValid(workflow)
})

test('sets the default action WAIT on transitions of the engine, and none on those of clients', () => {
  const { transitions } = completed({
    name: 'x',
    states: [{ name: 'a' }, { name: 'b' }],
    transitions: [
      { from: 'a', to: 'b', eligible: 'WFX' },
      { from: 'a', to: 'b', eligible: 'CLIENT' },
    ],
  })
  assert.deepEqual(
    transitions.map(({ action }) => action),
    ['WAIT', undefined],
  )
})

test('accepts every acyclic workflow in which all states are reachable from the first one', () => {
  fc.assert(
    fc.property(
      fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
      fc.array(fc.nat(), { maxLength: 20 }),
      (tree, more) => {
        const lines = tree.map((pick, index) => `s${pick % (index + 1)} > s${index + 1}`)
        const extra = more.map((pick) => {
          const to = 1 + (pick % tree.length)
          return `s${pick % to} > s${to}`
        })
        const workflow = machine(...new Set([...lines, ...extra]))
        requireValid(workflow)
        assert.equal(initialState(workflow), 's0')
        assert.ok(workflow.states.some(({ name }) => isFinal(workflow, name)))
        const back = machine(...new Set([...lines, `s${tree.length} > s0`]))
        assert.throws(() => requireValid(back), /cycle/)
      },
    ),
    { numRuns: 60 },
  )
})

test('returns the group of a workflow that contains a state', () => {
  assert.equal(groupOf(directUpdate, 'ACTIVATED'), 'CLOSED')
  assert.equal(groupOf(machine('a > b'), 'a'), undefined)
})
